#include "tests/ranks/run_ranks.h"

#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <stdexcept>

#include "framework/distributed/loopback_socket.h"

namespace tenon::distributed {

namespace {

std::string describe_end(int status) {
  if (WIFSIGNALED(status)) return "ended: signal " + std::to_string(WTERMSIG(status));
  return "ended: exit code " + std::to_string(WEXITSTATUS(status));
}

// Ends the process without destructors of the parent's objects.
[[noreturn]] void be_rank(const World& world, const std::function<std::string(const World&)>& body, int out) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::string text;
  try {
    text = body(world);
  } catch (const std::exception& error) {
    text = std::string("threw: ") + error.what();
  }
  text += '\0';  // marks the end of a complete text
  for (size_t done = 0; done < text.size();) {
    const ssize_t written = write(out, text.data() + done, text.size() - done);
    if (written <= 0) _exit(1);
    done += static_cast<size_t>(written);
  }
  _exit(0);
}

}  // namespace

std::vector<std::string> run_ranks(int64_t size, const std::function<std::string(const World&)>& body) {
  LoopbackSocket listener = listen_on_loopback();
  std::vector<pid_t> children;
  std::vector<int> outputs;
  for (int64_t rank = 0; rank < size; ++rank) {
    int ends[2];
    if (pipe(ends) != 0) throw std::runtime_error("no pipe");
    World world;
    world.launcher = World::Launcher::tenon;
    world.rank = world.local_rank = rank;
    world.size = world.local_size = size;
    world.master_address = "127.0.0.1";
    world.master_port = listener.port;
    if (rank == 0) world.listen_fd = listener.descriptor.number();
    const pid_t child = fork();
    if (child < 0) throw std::runtime_error("no process");
    if (child == 0) be_rank(world, body, ends[1]);
    close(ends[1]);
    children.push_back(child);
    outputs.push_back(ends[0]);
  }
  listener.descriptor.close();

  std::vector<std::string> texts;
  for (size_t i = 0; i < children.size(); ++i) {
    std::string text;
    char buffer[4096];
    for (ssize_t got; (got = read(outputs[i], buffer, sizeof buffer)) > 0;)
      text.append(buffer, static_cast<size_t>(got));
    close(outputs[i]);
    int status = 0;
    waitpid(children[i], &status, 0);
    const bool is_whole = !text.empty() && text.back() == '\0';
    if (is_whole) text.pop_back();
    texts.push_back(is_whole ? text : describe_end(status));
  }
  return texts;
}

}  // namespace tenon::distributed

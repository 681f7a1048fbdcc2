#include "tests/ranks/run_ranks.h"

#include <poll.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <ATen/Parallel.h>
#include <algorithm>
#include <chrono>
#include <memory>
#include <stdexcept>

#include "framework/distributed/launch/loopback_socket.h"
#include "framework/distributed/launch/process_state.h"
#include "framework/support/digests/sha256.h"

namespace tenon::distributed {

std::string digest(const at::Tensor& tensor) {
  const at::Tensor bytes = tensor.contiguous();
  return support::sha256(std::string_view(static_cast<const char*>(bytes.const_data_ptr()), bytes.nbytes()));
}

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

struct ForkedRank {
  pid_t process;
  int output;  // -1: closed
  std::string text;
};

// Reads what the rank has written. Closes the output at its end.
void read_output(ForkedRank& rank) {
  char buffer[4096];
  const ssize_t length = read(rank.output, buffer, sizeof buffer);
  if (length > 0) return void(rank.text.append(buffer, static_cast<size_t>(length)));
  close(rank.output);
  rank.output = -1;
}

void read_outputs(std::vector<ForkedRank>& ranks) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::minutes(2);
  for (;;) {
    std::vector<pollfd> files;
    bool are_all_stopped = true;
    for (const ForkedRank& rank : ranks) {
      files.push_back({rank.output, POLLIN, 0});  // -1 is ignored
      are_all_stopped &= rank.output < 0 || is_stopped(read_process_state(rank.process));
    }
    if (std::ranges::all_of(ranks, [](const ForkedRank& rank) { return rank.output < 0; })) return;
    if (are_all_stopped || std::chrono::steady_clock::now() > limit)
      for (const ForkedRank& rank : ranks) kill(rank.process, SIGKILL);
    if (poll(files.data(), files.size(), /*ms=*/100) <= 0) continue;
    for (size_t i = 0; i < ranks.size(); ++i)
      if (files[i].revents != 0) read_output(ranks[i]);
  }
}

}  // namespace

std::vector<std::string> run_ranks(int64_t size, const std::function<std::string(const World&)>& body) {
  LoopbackSocket listener = listen_on_loopback();
  std::vector<ForkedRank> ranks;
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
    ranks.push_back({child, ends[0], ""});
  }
  listener.descriptor.close();

  read_outputs(ranks);
  std::vector<std::string> texts;
  for (ForkedRank& rank : ranks) {
    int status = 0;
    waitpid(rank.process, &status, 0);
    const bool is_whole = !rank.text.empty() && rank.text.back() == '\0';
    if (is_whole) rank.text.pop_back();
    texts.push_back(is_whole ? rank.text : describe_end(status));
  }
  return texts;
}

std::vector<std::string> run_in_group(int64_t size, const config::DistributedSection& plan,
                                      const std::function<std::string(ProcessGroup&)>& body) {
  return run_ranks(size, [&](const World& world) {
    at::set_num_threads(1);
    ProcessGroup group(world, plan, nullptr);
    std::string text = body(group);
    group.barrier();
    return text;
  });
}

std::vector<std::string> run_connected(int64_t size, const std::function<std::string(ProcessGroup&)>& body) {
  return run_ranks(size, [&](const World& world) {
    at::set_num_threads(1);
    const auto group = world.size > 1 ? std::make_unique<ProcessGroup>(world, config::DistributedSection{}, nullptr)
                                      : std::make_unique<ProcessGroup>();
    try {
      std::string text = body(*group);
      group->barrier();
      return text;
    } catch (const std::exception& error) {
      group->report_failure(error.what());
      throw;
    }
  });
}

}  // namespace tenon::distributed

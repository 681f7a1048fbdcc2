#include "tests/distributed/launched_run.h"

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <chrono>
#include <fstream>
#include <iterator>
#include <sstream>

#include "tests/test_folder.h"

namespace tenon::distributed {
namespace {

std::filesystem::path make_folder() {
  static int count = 0;
  const auto folder = tenon::test_folder() / ("launched_" + std::to_string(++count));
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

template <class Is>
bool await(const Is& is) {
  const auto limit = std::chrono::steady_clock::now() + std::chrono::seconds(30);
  while (!is()) {
    if (std::chrono::steady_clock::now() > limit) return false;
    usleep(2000);
  }
  return true;
}

// A process that has ended but has not been waited for also counts as not running.
bool is_running(pid_t pid) {
  const std::string stat = read_text("/proc/" + std::to_string(pid) + "/stat");
  const size_t name_end = stat.rfind(')');
  return name_end != stat.npos && stat.substr(name_end + 2, 1) != "Z";
}

void become_program(const std::filesystem::path& folder, const std::vector<std::string>& arguments,
                    const std::map<std::string, std::string>& variables) {
  setpgid(0, 0);
  if (chdir(folder.c_str()) != 0) _exit(126);
  dup2(open("/dev/zero", O_RDONLY), STDIN_FILENO);
  dup2(open("output", O_WRONLY | O_CREAT | O_APPEND, 0666), STDOUT_FILENO);
  dup2(open("errors", O_WRONLY | O_CREAT | O_APPEND, 0666), STDERR_FILENO);
  for (const auto& [name, value] : variables) setenv(name.c_str(), value.c_str(), 1);
  std::vector<char*> pointers;
  for (const std::string& argument : arguments) pointers.push_back(const_cast<char*>(argument.c_str()));
  pointers.push_back(nullptr);
  execv(TENON_LAUNCHED_PROGRAM, pointers.data());
  _exit(127);
}

}  // namespace

std::string read_text(const std::filesystem::path& file) {
  std::ifstream stream(file, std::ios::binary);
  return {std::istreambuf_iterator<char>(stream), {}};
}

bool await_path(const std::filesystem::path& file) {
  return await([&] { return std::filesystem::exists(file); });
}

LaunchedRun::LaunchedRun(int processes, const std::vector<std::string>& ranks, double patience_s,
                         const std::map<std::string, std::string>& variables)
    : processes_(processes), folder_(make_folder()) {
  std::ostringstream patience;
  patience << patience_s;
  std::vector<std::string> arguments{"launched_program", std::to_string(processes), patience.str()};
  arguments.insert(arguments.end(), ranks.begin(), ranks.end());
  pid_ = fork();
  if (pid_ == 0) become_program(folder_, arguments, variables);
  setpgid(pid_, pid_);
}

LaunchedRun::~LaunchedRun() {
  if (is_finished_) return;
  kill(-pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

void LaunchedRun::await_file(const std::string& name) const {
  CAPTURE(name);
  REQUIRE(await_path(folder_ / name));
}

void LaunchedRun::await_ready() const {
  for (int rank = 0; rank < processes_; ++rank) await_file("ready." + std::to_string(rank));
}

bool LaunchedRun::has_ended() const { return !is_running(pid_); }

LaunchedOutcome LaunchedRun::finish() {
  int status = 0;
  const bool has_ended = await([&] { return waitpid(pid_, &status, WNOHANG) == pid_; });
  REQUIRE(has_ended);
  is_finished_ = true;
  const int exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return {exit_code, read_text(folder_ / "output"), read_text(folder_ / "errors")};
}

bool LaunchedRun::are_all_ranks_gone() const {
  for (int rank = 0; rank < processes_; ++rank) {
    pid_t pid = 0;
    std::istringstream(read_text(folder_ / ("pid." + std::to_string(rank)))) >> pid;
    if (pid != 0 && !await([&] { return !is_running(pid); })) return false;
  }
  return true;
}

LaunchedOutcome launch(int processes, const std::vector<std::string>& ranks, double patience_s,
                       const std::map<std::string, std::string>& variables) {
  LaunchedRun run(processes, ranks, patience_s, variables);
  LaunchedOutcome outcome = run.finish();
  CHECK(run.are_all_ranks_gone());
  return outcome;
}

}  // namespace tenon::distributed

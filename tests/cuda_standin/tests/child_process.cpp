#include "tests/cuda_standin/tests/child_process.h"

#include <doctest/doctest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdlib>
#include <stdexcept>

namespace tenon::standin::tests {

Child start_child(const std::function<void()>& function) {
  std::array<int, 2> ends{};
  if (pipe(ends.data()) != 0) throw std::runtime_error("pipe() failed");
  const pid_t process = fork();
  if (process < 0) throw std::runtime_error("fork() failed");
  if (process == 0) {
    std::signal(SIGSEGV, SIG_DFL);  // doctest handles it
    dup2(ends[1], STDOUT_FILENO);
    dup2(ends[1], STDERR_FILENO);
    close(ends[0]);
    function();
    _exit(0);
  }
  close(ends[1]);
  return {process, ends[0]};
}

Outcome wait_for_child(const Child& child) {
  Outcome outcome{};
  std::array<char, 4096> piece{};
  for (ssize_t count = 0; (count = read(child.output, piece.data(), piece.size())) > 0;)
    outcome.output.append(piece.data(), static_cast<size_t>(count));
  close(child.output);
  int status = 0;
  waitpid(child.process, &status, 0);
  outcome.exit_code = WIFSIGNALED(status) ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
  return outcome;
}

Outcome run_child(const std::function<void()>& function) { return wait_for_child(start_child(function)); }

Child start_case(const std::string& name, const Settings& settings) {
  return start_child([&] {
    for (const auto& [variable, value] : settings) setenv(variable.c_str(), value.c_str(), 1);
    execl("/proc/self/exe", "test", "--no-skip", ("--test-case=" + name).c_str(), nullptr);
    _exit(127);
  });
}

std::string run_case(const std::string& name, const Settings& settings) {
  const Outcome outcome = wait_for_child(start_case(name, settings));
  CHECK_MESSAGE(outcome.exit_code == 0, outcome.output);
  return outcome.output;
}

}  // namespace tenon::standin::tests

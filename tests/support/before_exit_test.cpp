#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>

#include <doctest/doctest.h>

#include "framework/support/process/before_exit.h"

using namespace tenon::support;

namespace {

struct AbortsAtExit {
  ~AbortsAtExit() { std::abort(); }
};

// Returns the status of a process that calls exit(0), as waitpid() does.
int status_after_exit(BeforeExit before) {
  const pid_t child = fork();
  if (child == 0) {
    std::signal(SIGABRT, SIG_DFL);
    set_before_exit(before);
    static const AbortsAtExit object;
    std::exit(0);
  }
  int status = 0;
  REQUIRE(waitpid(child, &status, 0) == child);
  return status;
}

}  // namespace

TEST_CASE("a function runs before the destructors that exit() calls") {
  CHECK(WEXITSTATUS(status_after_exit([](const char*, const void*) { end_process(7); })) == 7);
  CHECK(WTERMSIG(status_after_exit(nullptr)) == SIGABRT);
}

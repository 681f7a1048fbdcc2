// The entry point of libFuzzer (see https://llvm.org/docs/LibFuzzer.html). It runs the only target of the program.
#include <sys/time.h>

#include <csignal>
#include <cstdlib>

#include "tests/fuzz/fuzz_target.h"

namespace {

constexpr time_t kMostSeconds = 10;

extern "C" void end_slow_input(int) {
  constexpr std::string_view kMessage = "ERROR: the input takes more than 10 s of CPU time\n";
  [[maybe_unused]] const ssize_t written = ::write(STDERR_FILENO, kMessage.data(), kMessage.size());
  std::abort();
}

// Limits the CPU time of an input. The limit of libFuzzer is one of real time, which a busy machine exceeds.
void limit_cpu_time(time_t seconds) {
  const itimerval limit = {.it_interval = {}, .it_value = {.tv_sec = seconds, .tv_usec = 0}};
  tenon::fuzz::require(::setitimer(ITIMER_PROF, &limit, nullptr) == 0);
}

}  // namespace

extern "C" int LLVMFuzzerInitialize(int*, char***) {
  tenon::fuzz::require(std::signal(SIGPROF, end_slow_input) != SIG_ERR);
  return 0;
}

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  limit_cpu_time(kMostSeconds);
  tenon::fuzz::run_target(tenon::fuzz::list_targets().at(0), {data, size});
  limit_cpu_time(0);
  return 0;
}

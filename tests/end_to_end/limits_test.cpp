// Runs under a limit of the address space (ulimit -v), with each limit between what the program needs and what a run
// needs.
#include <doctest/doctest.h>

#include <cmath>

#include "framework/support/diagnostics/sanitizers.h"
#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;

namespace {

// The limit is in KiB.
Outcome train_within(int64_t limit) {
  const std::filesystem::path output = make_empty_folder("limited");
  return run_host(
      {"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--limit-batches", "2", "--set", "train={steps=2}",
       "--set", "data.workers=2", "--set", "run.threads=4", "--set", "run.output_dir=\"" + output.string() + "\""},
      "sh -c 'ulimit -v " + std::to_string(limit) + "; exec \"$0\" \"$@\"'");
}

bool is_named(const std::string& errors) {
  for (const char* const word : {"ulimit -v", "address space"})
    if (errors.find(word) != std::string::npos) return true;
  return false;
}

}  // namespace

// The sanitizers reserve more address space than any of these limits.
#if !TENON_IS_SANITIZED
TEST_CASE("a run that does not fit into its address space ends with exit code 11 and names the limit") {
  constexpr double kStep = 1.05, kLargest = 3;  // as a multiple of the first limit that a run can work with
  double first_finished = 0;
  int refused = 0;
  for (double limit = 1 << 16; first_finished == 0 || limit < kLargest * first_finished; limit *= kStep) {
    const Outcome outcome = train_within(std::llround(limit));
    CAPTURE(limit);
    CAPTURE(outcome.errors);
    if (outcome.exit_code == 0) {
      if (first_finished == 0) first_finished = limit;
      continue;
    }
    ++refused;
    // The loader itself ends the process if a thread has no memory for the thread-local data of a library.
    if (outcome.errors.find("cannot allocate memory for thread-local data") != std::string::npos) continue;
    CHECK(outcome.exit_code == 11);
    CHECK(is_named(outcome.errors));
    REQUIRE(limit < (1 << 24));
  }
  CHECK(refused > 0);
}
#endif

// Runs under a limit of the address space (ulimit -v), with each limit between what the loader needs and what a run
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
  constexpr double kStep = 1.05, kLargest = 4;  // as a multiple of the first limit that the loader can work with
  int64_t first_loaded = 0;
  int refused = 0, finished = 0;
  for (double limit = 1 << 16; first_loaded == 0 || limit < kLargest * static_cast<double>(first_loaded);
       limit *= kStep) {
    const Outcome outcome = train_within(std::llround(limit));
    CAPTURE(limit);
    CAPTURE(outcome.errors);
    // The host has not started.
    if (first_loaded == 0 && outcome.exit_code == 127) continue;
    if (first_loaded == 0) first_loaded = std::llround(limit);
    if (outcome.exit_code == 0) {
      ++finished;
      continue;
    }
    ++refused;
    CHECK(outcome.exit_code == 11);
    CHECK(is_named(outcome.errors));
    REQUIRE(limit < (1 << 24));
  }
  CHECK(refused > 0);
  CHECK(finished > 0);
}
#endif

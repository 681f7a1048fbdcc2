// The closing summary of a run names its slow part: a dataset, a callback or a disk. Runs of five seconds or more also
// get advice, here the run with a slow disk. tests/pipeline/stage_times_test.cpp tests all kinds of advice.
#include <doctest/doctest.h>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

// Trains six steps with one sample per step and without validation. One part sleeps much longer than the others work.
std::string time_of_run(const std::string& name, const std::vector<std::string>& settings,
                        const std::string& prefix = "") {
  const fs::path output = make_empty_folder("slow_" + name);
  std::vector<std::string> arguments = {"--config",        TENON_SOURCE_DIR "/configs/digits_mlp.toml",
                                        "--limit-batches", "6",
                                        "--plugin-dir",    TENON_BINARY_DIR "/tests/fixtures/plugins/forgetful"};
  for (const std::string& setting :
       {"run.output_dir=\"" + output.string() + "\"", std::string("train.epochs=1"), std::string("data.batch_size=1"),
        std::string("data.workers=0"), std::string("validation.every=\"never\"")})
    arguments.insert(arguments.end(), {"--set", setting});
  for (const std::string& setting : settings) arguments.insert(arguments.end(), {"--set", setting});
  const Outcome outcome = require_success(run_host(arguments, prefix));
  const size_t at = outcome.output.find("\ntime: ");
  REQUIRE(at != std::string::npos);
  return outcome.output.substr(at + 1);
}

}  // namespace

TEST_CASE("a slow dataset is reported as data") {
  const std::string time = time_of_run("dataset", {"data.train={use=\"tardy\", params={milliseconds=300}}"});
  CAPTURE(time);
  CHECK(time.starts_with("time: data "));
}

TEST_CASE("a slow callback is reported by its name") {
  const std::string time = time_of_run("callback", {"callback=[{use=\"slow\"}]"});
  CAPTURE(time);
  CHECK(time.starts_with("time: callback slow "));
}

TEST_CASE("a slow disk is reported by the files written to it") {
  // Each fsync(2) takes 0.15 s longer.
  const std::string time = time_of_run("disk", {"checkpoint.every=\"1 step\"", "checkpoint.asynchronous=false"},
                                       "strace -f -qq -o /dev/null -e trace=fsync -e inject=fsync:delay_exit=150000");
  CAPTURE(time);
  CHECK(time.starts_with("time: checkpoint "));
  CHECK(time.find("\ntraining waited for checkpoints ") != std::string::npos);
}

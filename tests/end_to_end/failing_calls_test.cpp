// System calls that fail or are interrupted, injected by strace.
#include <doctest/doctest.h>

#include "framework/support/digests/sha256.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

namespace failing_calls_test {

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

std::vector<std::string> train(const std::vector<std::string>& more = {}) {
  return joined({"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--limit-batches", "2", "--set",
                 "train={steps=2}", "--set", "run.output_dir=\"" + (tenon::test_folder() / "runs").string() + "\""},
                more);
}

// `how`: a value of strace's option inject.
std::string inject(const fs::path& path, const std::string& how) {
  return "strace -f -qq -o strace.txt -P '" + path.string() + "' -e trace=openat,read,pread64,flock -e inject=" + how;
}

fs::path newest_checkpoint() {
  return find_run_folder(tenon::test_folder() / "runs", "digits_mlp") / "checkpoints/latest";
}

}  // namespace

TEST_CASE("a plugin file that cannot be read ends with exit code 3") {
  const fs::path plugin = fs::canonical(TENON_BINARY_DIR "/plugins/mlp.so");
  const std::string pin = "plugins.sha256={\"mlp.so\"=\"" + tenon::support::read_sha256(plugin) + "\"}";
  struct Case {
    std::string how;
    std::vector<std::string> more;
  };
  const Case cases[] = {{"pread64:error=EIO", {}},
                        {"read:error=EIO", {"--set", pin}},  // the digest that is compared with the pin
                        {"read:error=EIO", {}},              // the loader
                        {"read:error=EIO:when=2+", {}}};     // the digest for run.json, after the loader
  for (const Case& one : cases) {
    CAPTURE(one.how);
    const Outcome outcome = run_host(train(one.more), inject(plugin, one.how));
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.errors.find("error: " + plugin.string() + ": ") == 0);
    CHECK(outcome.errors.find("cannot be ") != std::string::npos);
  }
}

TEST_CASE("a call that a signal interrupts is repeated") {
  const fs::path plugin = fs::canonical(TENON_BINARY_DIR "/plugins/mlp.so");
  require_success(run_host(train(), inject(plugin, "openat:error=EINTR:when=1")));
  const fs::path checkpoint = newest_checkpoint();
  const fs::path weights = fs::canonical(checkpoint) / "model.safetensors";
  require_success(run_host({"checkpoint", "show", checkpoint.string()}, inject(weights, "openat:error=EINTR:when=1")));
  // The first call that opens the file maps its tensors, the second one computes its digest.
  for (const char* const when : {"1", "2"}) {
    const Outcome outcome = require_success(run_host({"checkpoint", "verify", checkpoint.string()},
                                                     inject(weights, std::string("openat:error=EINTR:when=") + when)));
    CHECK(outcome.errors.empty());
  }
  const fs::path run = checkpoint.parent_path().parent_path();
  require_success(
      run_host({"runs", (tenon::test_folder() / "runs").string()}, inject(run, "openat,flock:error=EINTR:when=1")));
}

TEST_CASE("a run resumes without its CSV file, its TensorBoard events and its log if they cannot be written") {
  CHECK(run_host(train({"--set", "log.tensorboard=true"})).exit_code == 0);
  const fs::path run = find_run_folder(tenon::test_folder() / "runs", "digits_mlp");
  for (const char* const name : {"history.csv", "log.txt", "report.html"}) {
    fs::remove(run / name);
    fs::create_directories(run / name / "in_the_way");
  }
  fs::create_directories(run / "events.begun/in_the_way");
  const Outcome outcome = require_success(
      run_host(train({"--set", "log.tensorboard=true", "--set", "train={steps=4}", "--resume", run.string()})));
  for (const char* const message :
       {"history.csv: cannot be replaced: ", ". The run continues without this file; history.jsonl has all lines",
        ". The run continues without TensorBoard events", ". The run continues without this file",
        "warning: no report: "})
    CHECK(outcome.errors.find(message) != std::string::npos);
  CHECK(read_file(run / "history.jsonl").find("\"step\": 4") != std::string::npos);
}

}  // namespace failing_calls_test

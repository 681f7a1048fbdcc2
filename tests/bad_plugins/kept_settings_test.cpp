// Runs with plugins that change the settings of their process.
#include <sys/stat.h>

#include <doctest/doctest.h>
#include <filesystem>
#include <string>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;

using tenon::contains;
using tenon::count_parts;
using tenon::test_folder;
using namespace tenon::end_to_end;

namespace {

constexpr const char* kRun = R"([run]
deterministic = true

[model]
use = "mlp"
params = { inputs = 3, hidden = [4], classes = 100 }

[data]
batch_size = 4
workers = 2

[data.train]
use = "bad"

[[loss]]
use = "cross_entropy"
inputs = { logits = "model.logits", target = "data.label" }

[train]
epochs = 3

[optimizer]
use = "sgd"
lr = 0.01
)";

struct Trained {
  std::string weights;
  std::string errors;
  mode_t permissions;  // of the weights
};

Trained train(const std::string& fault) {
  const fs::path folder = make_empty_folder(fault);
  const fs::path file = write_file(folder / "bad.toml", kRun);
  fs::create_directory(folder / "plugins");
  fs::copy(TENON_BINARY_DIR "/tests/bad_plugins/dataset/" + fault + ".so", folder / "plugins/bad.so");
  const Outcome outcome =
      require_success(run_host({"--config", file.string(), "--plugin-dir", (folder / "plugins").string(), "--set",
                                "run.output_dir=\"" + (folder / "runs").string() + "\""}));
  const fs::path weights = find_run_folder(folder / "runs", "bad") / "checkpoints/latest/model.safetensors";
  struct stat status {};
  REQUIRE(stat(weights.c_str(), &status) == 0);
  return {read_file(weights), outcome.errors, status.st_mode};
}

}  // namespace

TEST_CASE("a run restores what a plugin changes in its process, names the call once, and trains the same weights") {
  const Trained unchanged = train("no_fault");
  CHECK_FALSE(contains(unchanged.errors, "The host restored it"));
  struct Expectation {
    const char* fault;
    const char* call;
    const char* setting;
  };
  for (const Expectation& expected :
       {Expectation{"entry_changes_locale", "during the opening of ", "the locale changed (C, then C.UTF-8)"},
        {"get_sets_locale", "get of dataset \"bad\"", "the locale changed (C, then C.UTF-8)"},
        {"late_get_sets_locale", "get of dataset \"bad\"", "the locale changed"},
        {"get_rounds_upward", "get of dataset \"bad\"", "the modes of floating-point arithmetic changed"},
        {"late_get_rounds_upward", "get of dataset \"bad\"", "the modes of floating-point arithmetic changed"},
        {"get_sets_umask", "get of dataset \"bad\"", "the umask changed (0022, then 0000)"},
        {"get_changes_directory", "get of dataset \"bad\"", "the working directory changed"},
        {"get_handles_a_signal", "get of dataset \"bad\"", "the handler of SIGUSR1 changed"},
        {"get_resets_sigterm", "get of dataset \"bad\"", "the handler of SIGTERM changed"}}) {
    CAPTURE(expected.fault);
    const Trained trained = train(expected.fault);
    CAPTURE(trained.errors);
    CHECK(trained.weights == unchanged.weights);
    CHECK(trained.permissions == unchanged.permissions);
    CHECK(count_parts(trained.errors, "The host restored it") == 1);
    CHECK(contains(trained.errors, expected.call));
    CHECK(contains(trained.errors, expected.setting));
  }
}

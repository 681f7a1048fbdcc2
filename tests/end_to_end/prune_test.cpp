#include <doctest/doctest.h>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <set>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/run_folder.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;

using tenon::contains;
using tenon::test_folder;
using namespace tenon::end_to_end;

namespace {

fs::path runs() { return test_folder() / "runs"; }

// A run with a checkpoint after each epoch. A larger learning rate gives a lower loss.
void train(double lr, int epochs = 1) {
  const fs::path file = write_file(test_folder() / "digits.toml", R"([model]
use = "mlp"
[data]
batch_size = 512
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[train]
epochs = 1
[optimizer]
use = "sgd"
lr = 0.1
[checkpoint]
keep = 10
)");
  require_success(run_host({"--config", file.string(), "--set", "run.output_dir=\"" + runs().string() + "\"", "--set",
                            "optimizer.lr=" + std::to_string(lr), "--set", "train.epochs=" + std::to_string(epochs)}));
}

// The names of the folders, oldest first.
std::vector<std::string> list(const fs::path& folder) {
  std::set<std::string> names;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder))
    names.insert(entry.path().filename().string());
  return {names.begin(), names.end()};
}

Outcome prune(const std::vector<std::string>& options) { return run_host(joined({"prune", runs().string()}, options)); }

}  // namespace

TEST_CASE("prune shows what it would remove, and removes old runs except the best") {
  make_empty_folder("runs");
  for (const double lr : {0.1, 0.5, 0.2, 0.1}) train(lr);
  const std::vector<std::string> before = list(runs() / "digits");
  REQUIRE(before.size() == 4);
  const Outcome shown = require_success(prune({"--keep-runs", "1"}));
  CHECK(contains(shown.output, "digits/" + before[0] + "  "));
  CHECK(contains(shown.output, before[1] + ", which has the best value of its monitored metric"));
  CHECK(contains(shown.output, "2 runs and 0 checkpoints, "));
  CHECK(contains(shown.output, "nothing was removed: add --yes"));
  CHECK(list(runs() / "digits") == before);
  for (const std::string& same : {(runs() / "digits").string(), runs().string() + "/", (runs() / "digits/.").string()})
    CHECK(contains(require_success(run_host({"prune", same, "--keep-runs", "1"})).output, "2 runs and 0 checkpoints"));
  const auto json = nlohmann::json::parse(require_success(prune({"--keep-runs", "1", "--json"})).output);
  CHECK(json.at("runs").size() == 2);
  CHECK(json.at("bytes").get<uint64_t>() > 0);
  CHECK(json.at("removed") == false);
  require_success(prune({"--keep-runs", "1", "--yes"}));
  CHECK(list(runs() / "digits") == std::vector{before[1], before[3]});
  CHECK(contains(require_success(prune({"--keep-runs", "1"})).output, "nothing to remove"));
}

TEST_CASE("prune keeps a running run, the newest run with a checkpoint, and a renamed run") {
  make_empty_folder("runs");
  for (int i = 0; i < 4; ++i) train(0.1);
  const std::vector<std::string> before = list(runs() / "digits");
  fs::rename(runs() / "digits" / before[0], runs() / "digits/baseline");
  const auto lock = tenon::artifacts::lock_run_folder(runs() / "digits" / before[1]);
  for (const fs::directory_entry& one : fs::directory_iterator(runs() / "digits" / before[3] / "checkpoints"))
    fs::remove_all(one);
  const Outcome outcome = require_success(prune({"--keep-runs", "1", "--yes"}));
  CHECK(contains(outcome.output, before[1] + ", which is running"));
  CHECK(contains(outcome.output, before[2] + ", which is the newest run with a checkpoint"));
  CHECK(list(runs() / "digits") == std::vector<std::string>{before[1], before[2], before[3], "baseline"});
}

TEST_CASE("prune counts no damaged checkpoint, and leaves a run with a broken link alone") {
  make_empty_folder("runs");
  train(0.1, 3);
  const fs::path checkpoints = find_run_folder(runs(), "digits") / "checkpoints";
  fs::remove(checkpoints / "best");
  fs::create_symlink("step-00000009", checkpoints / "best");
  fs::resize_file(checkpoints / "step-00000009/model.safetensors", 10);
  require_success(prune({"--keep-checkpoints", "1", "--yes"}));
  CHECK(list(checkpoints) == std::vector<std::string>{"best", "latest", "step-00000006", "step-00000009"});
  fs::remove(checkpoints / "latest");
  fs::create_directory(checkpoints / "latest");
  write_file(checkpoints / "best-of-mine", "x");
  const Outcome outcome = require_success(prune({"--keep-checkpoints", "1", "--yes"}));
  CHECK(list(checkpoints).size() == 5);
}

TEST_CASE("prune removes old checkpoints, but neither latest nor best") {
  make_empty_folder("runs");
  train(0.1, 5);
  const fs::path checkpoints = find_run_folder(runs(), "digits") / "checkpoints";
  // The best by the metric of its manifest is not the newest.
  fs::remove(checkpoints / "best");
  fs::create_symlink("step-00000006", checkpoints / "best");
  require_success(prune({"--keep-checkpoints", "2", "--yes"}));
  CHECK(list(checkpoints) ==
        std::vector<std::string>{"best", "latest", "step-00000006", "step-00000012", "step-00000015"});
  require_success(run_host({"checkpoint", "verify", checkpoints.parent_path().string()}));
}

TEST_CASE("prune refuses to run without a rule") {
  make_empty_folder("runs");
  check_errors(prune({}), 2, {"nothing says what to remove; expected --keep-runs N, --keep-checkpoints N, or both"});
  check_errors(prune({"--keep-runs", "0"}), 2, {"--keep-runs"});
  check_errors(run_host({"prune", (test_folder() / "missing").string(), "--keep-runs", "1"}), 2, {"does not exist"});
}

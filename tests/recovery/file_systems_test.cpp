// Runs on file systems that lack symbolic links or cannot remove files, full disks, and copies of runs.
#include <doctest/doctest.h>
#include <algorithm>
#include <filesystem>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;

using tenon::contains;
using tenon::count_parts;
using tenon::test_folder;
using namespace tenon::end_to_end;

namespace {

constexpr const char* kRunFile = R"([run]
deterministic = true

[model]
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
epochs = 2

[optimizer]
use = "adamw"
lr = 1e-3
)";

std::vector<std::string> of_run(const std::vector<std::string>& more = {}) {
  const fs::path file = write_file(test_folder() / "digits.toml", kRunFile);
  return joined({"--config", file.string(), "--set", "run.output_dir=\"" + (test_folder() / "runs").string() + "\""},
                more);
}

// The words before `host` that make these calls fail, see refused_calls.cpp.
std::string refuse(const std::string& calls) {
  return "env LD_PRELOAD='" TENON_BINARY_DIR "/tests/bin/librefused_calls.so' 'TENON_TEST_REFUSED=" + calls + "'";
}

fs::path run_folder() { return find_run_folder(test_folder() / "runs", "digits"); }

// A run of two epochs of three steps.
fs::path train() {
  make_empty_folder("runs");
  require_success(run_host(of_run()));
  return run_folder();
}

std::string name_step(int step) { return tenon::artifacts::name_checkpoint_folder(step); }

bool is_readable_without_links(const std::string& word, const fs::path& run) {
  const fs::path link = run / "checkpoints" / word;
  std::vector<std::vector<std::string>> commands = {
      {"checkpoint", "show", link.string()},
      {"checkpoint", "verify", link.string()},
      {"checkpoint", "show", (link / "model.safetensors").string()},
      {"checkpoint", "diff", link.string(), (run / "checkpoints" / name_step(6)).string()}};
  for (const std::string& checkpoint : {word, link.string(), (link / "model.safetensors").string()})
    commands.push_back(joined(joined({"evaluate"}, of_run()), {"--checkpoint", checkpoint}));
  commands.push_back(of_run({"--set", "model.weights=\"" + (link / "model.safetensors").string() + "\"", "--check"}));
  return std::ranges::all_of(commands, [](const auto& command) {
    const Outcome outcome = run_host(command);
    CAPTURE(command);
    CHECK_MESSAGE(outcome.exit_code == 0, outcome.errors);
    return outcome.exit_code == 0;
  });
}

}  // namespace

TEST_CASE("a file system without symbolic links has files with the names of checkpoints") {
  for (const std::string error : {"1", "95", "38"}) {  // EPERM: exFAT, EOPNOTSUPP: CIFS, ENOSYS: FUSE
    CAPTURE(error);
    make_empty_folder("runs");
    const std::string prefix = refuse("symlink::" + error);
    const Outcome trained = require_success(run_host(of_run(), prefix));
    CHECK(count_parts(trained.errors, "has no symbolic links") == 1);
    const fs::path run = run_folder();
    CHECK(contains(trained.output, name_step(6) + "/model.safetensors\n"));
    CHECK(read_file(run / "checkpoints/latest") == name_step(6) + "\n");
    CHECK(is_readable_without_links("latest", run));
    CHECK(is_readable_without_links("best", run));
    const Outcome resumed = require_success(
        run_host(of_run({"--resume", (run / "checkpoints/latest").string(), "--set", "train.epochs=3"})));
    CHECK(contains(resumed.output, name_step(6) + " (epoch 2, step 6)"));
    CHECK(fs::is_symlink(run / "checkpoints/latest"));  // moved to a file system that has links
    require_success(run_host(of_run({"--resume", "latest", "--set", "train.epochs=4"}), prefix));
    CHECK(read_file(run / "checkpoints/latest") == name_step(12) + "\n");
  }
}

TEST_CASE("a copy of a run with folders in place of links resumes") {
  const fs::path run = train();
  for (const std::string link : {"latest", "best"}) {
    const fs::path checkpoint = fs::canonical(run / "checkpoints" / link);
    fs::remove(run / "checkpoints" / link);
    fs::copy(checkpoint, run / "checkpoints" / link);
  }
  CHECK(is_readable_without_links("best", run));
  require_success(run_host(of_run({"--resume", "latest", "--set", "train.epochs=3"})));
  CHECK(fs::is_symlink(run / "checkpoints/latest"));
  CHECK(fs::is_symlink(run / "checkpoints/best"));
  CHECK(tenon::artifacts::verify_checkpoint(run / "checkpoints/latest").step == 9);
}

TEST_CASE("a copied checkpoint takes the place of an original that is missing or damaged") {
  for (const bool is_missing : {true, false}) {
    CAPTURE(is_missing);
    const fs::path checkpoints = train() / "checkpoints", original = checkpoints / name_step(6);
    fs::remove(checkpoints / "latest");
    fs::remove(checkpoints / "best");
    fs::copy(original, checkpoints / "latest");
    if (is_missing)
      fs::remove_all(original);
    else
      fs::resize_file(original / "model.safetensors", 100);
    const Outcome resumed =
        require_success(run_host(of_run({"--resume", (checkpoints / "latest").string(), "--set", "train.epochs=3"})));
    CHECK(contains(resumed.output, "(epoch 2, step 6)"));
  }
}

TEST_CASE("the newest checkpoint may be a copy without its original, and another checkpoint is not removed") {
  make_empty_folder("runs");
  require_success(run_host(of_run({"--set", "checkpoint.keep=5"})));
  const fs::path checkpoints = run_folder() / "checkpoints";
  fs::remove(checkpoints / "latest");
  fs::remove(checkpoints / "best");
  fs::rename(checkpoints / name_step(6), checkpoints / "latest");
  const Outcome resumed = require_success(
      run_host(of_run({"--resume", "latest", "--set", "train.epochs=3", "--set", "checkpoint.keep=5"})));
  CHECK(contains(resumed.output, name_step(6) + " (epoch 2, step 6)"));
  fs::remove(checkpoints / "best");
  fs::copy(checkpoints / name_step(6), checkpoints / "best");
  write_file(checkpoints / "best/manifest.json", read_file(checkpoints / "best/manifest.json") + " ");
  check_errors(run_host(of_run({"--resume", "latest", "--set", "train.epochs=4"})), 5,
               {"checkpoints/best: is another checkpoint of the same step as"});
  CHECK(fs::is_directory(checkpoints / "best"));
}

TEST_CASE("a checkpoint is replaced on a file system that cannot exchange folders") {
  make_empty_folder("runs");
  require_success(run_host(of_run({"--set", "checkpoint.keep=5"})));
  const fs::path checkpoints = run_folder() / "checkpoints";
  const std::string weights = read_file(checkpoints / name_step(6) / "model.safetensors");
  // The run resumes before the damaged checkpoint and writes it again.
  const auto resume = [&](const std::string& refused) {
    fs::resize_file(checkpoints / name_step(6) / "model.safetensors", 100);
    return run_host(of_run({"--resume", "latest", "--set", "checkpoint.keep=5"}), refuse(refused));
  };
  require_success(resume("exchange::22"));
  CHECK(read_file(checkpoints / name_step(6) / "model.safetensors") == weights);
  // Without an exchange for another reason the earlier folder stays.
  check_errors(resume("exchange::5"), 11, {"cannot be exchanged"});
  CHECK(fs::exists(checkpoints / name_step(6) / "manifest.json"));
}

TEST_CASE("a copy of a run without links has its best checkpoint") {
  const fs::path run = train();
  const fs::path best = fs::canonical(run / "checkpoints/best");
  fs::remove(run / "checkpoints/latest");
  fs::remove(run / "checkpoints/best");
  const Outcome evaluated = require_success(run_host(joined(joined({"evaluate"}, of_run()), {"--checkpoint", "best"})));
  CHECK(contains(evaluated.output, best.filename().string()));
  CHECK(contains(evaluated.output, "the best by validation/loss"));
  require_success(run_host(joined(joined({"evaluate"}, of_run()), {"--checkpoint", "latest"})));
}

TEST_CASE("files that cannot be removed are a warning, and the next run removes them") {
  make_empty_folder("runs");
  const std::vector<std::string> arguments = of_run({"--set", "checkpoint.keep=1", "--set", "train.epochs=3"});
  // NFS keeps files that are open as .nfsXXXX, so their folder is not empty.
  const Outcome trained = require_success(run_host(arguments, refuse("unlink:training.safetensors:16")));
  CHECK(contains(trained.errors, "cannot be removed: Device or resource busy; it is not needed"));
  const fs::path checkpoints = run_folder() / "checkpoints";
  const auto count_leftovers = [&] {
    return std::ranges::count_if(fs::directory_iterator(checkpoints), [](const fs::directory_entry& entry) {
      return entry.path().filename().string().starts_with(".");
    });
  };
  CHECK(count_leftovers() > 0);
  require_success(run_host(joined(arguments, {"--resume", "latest", "--set", "train.epochs=4"})));
  CHECK(count_leftovers() == 0);
}

// docs/reference/exit_codes.md has this list.
TEST_CASE("a full disk ends a run, except where the run continues without a file") {
  for (const std::string error : {"28", "122"}) {  // ENOSPC, EDQUOT
    const std::string reason = error == "28" ? "No space left on device" : "Disk quota exceeded";
    for (const std::string file :
         {"history.csv", "log.txt", "events.out.tfevents", "report.html", "/samples/", "/plots/"}) {
      CAPTURE(file);
      make_empty_folder("runs");
      const Outcome outcome = run_host(of_run(), refuse("write:" + file + ":" + error));
      CHECK(outcome.exit_code == 0);
      CHECK(contains(outcome.errors, "warning: "));
      CHECK(contains(outcome.errors, reason));
    }
    for (const std::string file : {"history.jsonl", "run.json", "/plan.toml", "model.safetensors", "manifest.json"}) {
      CAPTURE(file);
      make_empty_folder("runs");
      const Outcome outcome = run_host(of_run(), refuse("write:" + file + ":" + error));
      CHECK(outcome.exit_code == 11);
      CHECK(contains(outcome.errors, reason));
      CHECK(contains(outcome.errors, "free some space"));
    }
  }
}

TEST_CASE("a checkpoint folder alone resumes into a new run, and takes the history of no other run") {
  const fs::path run = train();
  // Two folders above the copy is another run.
  const fs::path copy = run / "copies" / "mine";
  fs::create_directories(copy.parent_path());
  fs::copy(run / "checkpoints" / name_step(3), copy);
  make_empty_folder("new");
  std::vector<std::string> arguments = of_run({"--resume", copy.string()});
  arguments[3] = "run.output_dir=\"" + (test_folder() / "new").string() + "\"";
  const Outcome resumed = require_success(run_host(arguments));
  CHECK(contains(resumed.errors, "is in no run folder, so the new run has no history before step 3"));
  const fs::path continued = find_run_folder(test_folder() / "new", "digits");
  CHECK_FALSE(contains(read_file(continued / "history.jsonl"), "\"step\": 2,"));
  CHECK(read_file(continued / "checkpoints/latest/model.safetensors") ==
        read_file(run / "checkpoints/latest/model.safetensors"));
  CHECK_FALSE(fs::exists(run / "copies/mine/latest"));
}

TEST_CASE("the plan of a run that was moved with its project finds the data") {
  make_empty_folder("before");
  fs::remove_all(test_folder() / "after");
  const fs::path before = test_folder() / "before", after = test_folder() / "after";
  write_file(before / "table.csv", "a,y\n1,0\n2,1\n3,0\n4,1\n");
  write_file(before / "table.toml", R"([model]
use = "mlp"
inputs = { image = "data.features" }
[data]
batch_size = 2
[data.train]
use = "table"
params = { path = "table.csv", target = "y", task = "classification" }
[[loss]]
use = "cross_entropy"
inputs = { target = "data.label" }
[train]
epochs = 1
[optimizer]
use = "adamw"
lr = 1e-3
[checkpoint]
every = "1 step"
keep = 5
)");
  require_success(run_host({"--config", (before / "table.toml").string(), "--set",
                            "run.output_dir=\"" + (before / "runs").string() + "\""}));
  fs::rename(before, after);
  const fs::path run = find_run_folder(after / "runs", "table");
  // In the middle of an epoch, in which the data must be the same.
  const Outcome resumed = require_success(
      run_host({"--config", (run / "plan.toml").string(), "--resume", (run / "checkpoints" / name_step(1)).string()}));
  CHECK(contains(resumed.errors, "the run was moved: 2 paths below " + before.string() + " no longer exist"));
  CHECK(contains(resumed.output, "(epoch 1, step 1)"));
  CHECK(std::ranges::distance(fs::directory_iterator(after / "runs/table")) == 2);
}

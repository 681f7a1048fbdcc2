// Tests runs that are killed and resumed: they must end with the same files as an uninterrupted run.
#include <doctest/doctest.h>
#include <fcntl.h>
#include <sys/file.h>

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <nlohmann/json.hpp>
#include <random>

#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/checkpoint/safetensors.h"
#include "framework/artifacts/run_folder/tensorboard_events.h"
#include "framework/support/files/file_descriptor.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

// An epoch has 12 steps with one process, or 6 with two.
constexpr const char* kRunFile = R"([run]
deterministic = true
threads = 1
[model]
use = "mlp"
params = { hidden = [32] }
[data]
batch_size = 24
workers = 2
[data.train]
use = "digits"
subset = "20%"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[[metric]]
use = "accuracy"
[train]
epochs = 3
[validation]
every = "5 steps"
[checkpoint]
every = "4 steps"
[log]
every = "2 steps"
[optimizer]
use = "adamw"
lr = 0.01
[[callback]]
use = "faulty"
params = { how = "kill", where = "environment" }
)";

const std::vector<std::string> kPlain{};
const std::vector<std::string> kMixed{"train.precision=\"bf16\"", "train.accumulate=2",
                                      "train.average={use=\"ema\",decay=0.9}"};
const std::vector<std::string> kDivided{"distributed.shard=\"optimizer\"", "train.accumulate=2",
                                        "train.average={use=\"ema\",decay=0.9}"};
const std::vector<std::string> kDividedGradients{"distributed.shard=\"gradients\"", "train.accumulate=2"};
const std::string kVit = "model={use=\"vit\",params={image_size=8,patch_size=4,width=12,depth=2,heads=3,mlp_width=20}}";
const std::vector<std::string> kDividedWeights{"distributed.shard=\"parameters\"", kVit, "train.accumulate=2",
                                               "train.average={use=\"ema\",decay=0.9}"};
const std::vector<std::string> kDividedScheduleFreeWeights{"distributed.shard=\"parameters\"", kVit,
                                                           "optimizer={use=\"schedule_free_adamw\",lr=0.01}"};
const std::vector<std::string> kDividedScheduleFree{"distributed.shard=\"optimizer\"",
                                                    "optimizer={use=\"schedule_free_adamw\",lr=0.01}"};
const std::vector<std::string> kScheduleFree{"optimizer={use=\"schedule_free_adamw\",lr=0.01}", "train.accumulate=2",
                                             "schedule.warmup_steps=3"};

std::vector<std::string> arguments_of(const std::string& name, int processes, const std::vector<std::string>& overrides,
                                      const std::string& resume = "") {
  const fs::path file = write_file(tenon::test_folder() / "resumed.toml", kRunFile);
  std::vector<std::string> arguments{
      "--config",     file.string(),
      "--processes",  std::to_string(processes),
      "--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/faulty",
      "--set",        "run.name=\"" + name + "\"",
      "--set",        "run.output_dir=\"" + (tenon::test_folder() / "resumed").string() + "\""};
  for (const std::string& one : overrides) arguments.insert(arguments.end(), {"--set", one});
  if (!resume.empty()) arguments.insert(arguments.end(), {"--resume", resume});
  return arguments;
}

fs::path runs_of(const std::string& name) { return tenon::test_folder() / "resumed" / name; }

// Returns the newest run. A run that was killed before its first checkpoint cannot be resumed.
fs::path run_of(const std::string& name) {
  const std::vector<fs::path> runs(fs::directory_iterator(runs_of(name)), {});
  REQUIRE(!runs.empty());
  return *std::ranges::max_element(runs);
}

// Returns the names and the bytes of all tensors, in however many files they are.
std::string weights_of(const fs::path& run) {
  std::map<std::string, std::string> tensors;
  for (const fs::path& file :
       tenon::artifacts::list_weight_files(tenon::artifacts::find_model_file(run / "checkpoints/latest"))) {
    const tenon::artifacts::SafetensorsFile stored(file);
    for (const tenon::artifacts::TensorView& tensor : stored.tensors())
      tensors[tensor.name] = {reinterpret_cast<const char*>(tensor.data), tensor.bytes};
  }
  std::string text;
  for (const auto& [name, bytes] : tensors) text += name + '\n' + bytes;
  REQUIRE(!text.empty());
  return text;
}

// Returns the header line of history.csv.
std::string columns_of(const fs::path& run) {
  std::ifstream csv(run / "history.csv");
  std::string header;
  std::getline(csv, header);
  return header;
}

// Returns the TensorBoard events without times and without the plan, because the runs have different names.
std::vector<std::string> events_of(const fs::path& run) {
  constexpr size_t kWallTime = 9;  // bytes of the first field
  std::ifstream stream(tenon::artifacts::find_events_file(run).value(), std::ios::binary);
  std::vector<std::string> events;
  while (const auto framed = tenon::artifacts::read_framed_record(stream)) {
    const std::string_view event = tenon::artifacts::record_data(*framed);
    const bool has_plan = contains(event, "_hparams_") || contains(event, "[run]");
    if (has_plan) continue;
    std::string& kept = events.emplace_back(event.substr(kWallTime));
    for (const char* time : {"train/step_s", "train/data_wait_s", "train/forward_backward_s", "train/optimizer_s"})
      if (const size_t at = kept.find(time); at != kept.npos)
        kept.replace(at + strlen(time) + 1, sizeof(float), sizeof(float), '\0');  // after the key of its value
  }
  return events;
}

void kill_and_resume(const std::string& name, int processes, const std::vector<std::string>& overrides,
                     const std::vector<int>& steps, const fs::path& whole) {
  fs::remove_all(runs_of(name));
  for (const int step : steps) {
    CAPTURE(step);
    check_errors(run_host(arguments_of(name, processes, overrides, "auto"),
                          "env TENON_TEST_FAULTY_STEP=" + std::to_string(step)),
                 processes == 1 ? 137 : 6, {});
  }
  const Outcome ended = require_success(run_host(arguments_of(name, processes, overrides, "auto")));
  const bool is_resumed = contains(ended.output, "resumed from ");
  CHECK(contains(ended.output, ") of a run that crashed\n") == is_resumed);
  const fs::path run = run_of(name);
  CHECK(weights_of(run) == weights_of(whole));
  CHECK(read_file(run / "checkpoints/latest/training.safetensors").size() ==
        read_file(whole / "checkpoints/latest/training.safetensors").size());
  CHECK(read_history_without_times(run) == read_history_without_times(whole));
  CHECK(columns_of(run) == columns_of(whole));
  CHECK(events_of(run) == events_of(whole));
}

void check_kills(const std::string& name, int processes, const std::vector<std::string>& overrides, int more) {
  CAPTURE(name);
  CAPTURE(processes);
  const std::string whole = name + "-whole";
  REQUIRE(run_host(arguments_of(whole, processes, overrides)).exit_code == 0);
  const int last = std::stoi(fs::read_symlink(run_of(whole) / "checkpoints/latest").string().substr(5));
  // Kills within the first epoch, and twice in one run: again after it was resumed.
  kill_and_resume(name, processes, overrides, {5, std::min(9, last - 1)}, run_of(whole));
  std::mt19937 random(static_cast<unsigned>(processes));
  for (int i = 0; i < more; ++i)
    kill_and_resume(name, processes, overrides, {static_cast<int>(random() % static_cast<unsigned>(last))},
                    run_of(whole));
}

}  // namespace

TEST_CASE("a killed and resumed run ends with the same bytes as an uninterrupted run") {
  check_kills("plain", 1, kPlain, 0);
}

TEST_CASE("a killed and resumed run of two processes ends with the same bytes as an uninterrupted run") {
  check_kills("plain-2", 2, kPlain, 0);
}

TEST_CASE("a run with bf16, accumulation and averaged weights resumes to the same bytes") {
  check_kills("mixed", 1, kMixed, 0);
  check_kills("mixed-2", 2, kMixed, 0);
}

TEST_CASE("a run with a schedule-free optimizer resumes to the same bytes") {
  check_kills("schedule-free", 1, kScheduleFree, 0);
  check_kills("schedule-free-2", 2, kScheduleFree, 0);
}

TEST_CASE("a run with its optimizer divided over processes resumes to the same bytes") {
  check_kills("divided-2", 2, kDivided, 0);
  check_kills("divided-3", 3, kDividedScheduleFree, 0);
}

TEST_CASE("a run with its gradients or its weights divided over processes resumes to the same bytes") {
  check_kills("gradients-2", 2, kDividedGradients, 0);
  check_kills("weights-3", 3, kDividedWeights, 0);
  check_kills("free-weights-2", 2, kDividedScheduleFreeWeights, 0);
}

TEST_CASE("a divided run is resumed by any number of processes, also undivided") {
  const std::string average = "train.average={use=\"ema\",decay=0.9}";
  const auto begin = [&](const std::string& name, const std::string& shard) {
    REQUIRE(run_host(arguments_of(name, 3, {kVit, average, "train.epochs=1", "distributed.shard=\"" + shard + "\""}))
                .exit_code == 0);
    return run_of(name);
  };
  const fs::path plain = begin("undivided", "none"), divided = begin("divided", "optimizer");
  const fs::path weights = begin("divided-weights", "parameters");
  CHECK(weights_of(divided) == weights_of(plain));
  CHECK(weights_of(weights) == weights_of(plain));
  const Outcome same = run_host({"checkpoint", "diff", plain.string(), weights.string()});
  CAPTURE(same.output);
  // All but the order in which DistributedDataParallel's way sums the gradients.
  for (const char* text :
       {"model.safetensors: 32 tensors are equal, 0 differ, 0 only in A, 0 only in B\n",
        "training.safetensors: 143 tensors are equal, 1 differ, 0 only in A, 0 only in B\n", "  reducer.buckets "})
    CHECK(contains(same.output, text));
  CHECK_FALSE(fs::exists(plain / "checkpoints/latest/training.rank1.safetensors"));
  CHECK(fs::exists(divided / "checkpoints/latest/training.rank2.safetensors"));
  CHECK(run_host({"checkpoint", "verify", divided.string()}).exit_code == 0);
  const auto resume = [&](const fs::path& run, int processes, const std::string& shard) {
    const std::string name = "resumed-" + run.parent_path().filename().string();
    fs::remove_all(runs_of(name));
    fs::create_directories(runs_of(name));
    fs::copy(run, runs_of(name) / run.filename(), fs::copy_options::recursive | fs::copy_options::copy_symlinks);
    const Outcome outcome = require_success(run_host(arguments_of(
        name, processes, {kVit, average, "train.epochs=2", "distributed.shard=\"" + shard + "\""}, "latest")));
    CHECK(contains(outcome.output, "resumed from "));
    return weights_of(run_of(name));
  };
  for (const int processes : {1, 2, 3, 4}) {
    CAPTURE(processes);
    const std::string expected = resume(plain, processes, "none");
    CHECK(resume(divided, processes, "optimizer") == expected);
    CHECK(resume(weights, processes, "parameters") == expected);
    if (processes == 1) continue;
    CHECK(resume(divided, processes, "none") == expected);
    CHECK(resume(weights, processes, "gradients") == expected);
    CHECK(resume(plain, processes, "optimizer") == expected);
    CHECK(resume(divided, processes, "parameters") == expected);
  }
  fs::remove(divided / "checkpoints/latest/training.rank1.safetensors");
  CHECK(run_host({"checkpoint", "verify", divided.string()}).exit_code != 0);
  check_errors(run_host(arguments_of("divided", 3, {kVit, average, "train.epochs=2"},
                                     fs::canonical(divided / "checkpoints/latest").string())),
               5, {"training.rank1.safetensors: is missing; the checkpoint is not complete"});
}

// TENON_KILLS=N sets the number of additional steps for each setup.
TEST_CASE("a run may be killed at any step" * doctest::test_suite("soak") * doctest::skip()) {
  const char* const given = std::getenv("TENON_KILLS");
  const int more = given ? std::atoi(given) : 10;
  for (const int processes : {1, 2, 4}) {
    check_kills("plain-" + std::to_string(processes), processes, kPlain, more);
    check_kills("mixed-" + std::to_string(processes), processes, kMixed, more);
  }
}

// -sc="parameters*" chooses setups.
TEST_CASE("a divided run may be killed at any step" * doctest::test_suite("soak") * doctest::skip()) {
  const char* const given = std::getenv("TENON_KILLS");
  const int more = given ? std::atoi(given) : 10;
  SUBCASE("optimizer on 2 processes") { check_kills("divided-2", 2, kDivided, more); }
  SUBCASE("gradients on 2 processes") { check_kills("gradients-2", 2, kDividedGradients, more); }
  SUBCASE("parameters on 2 processes") { check_kills("weights-2", 2, kDividedWeights, more); }
  SUBCASE("optimizer on 4 processes") { check_kills("divided-4", 4, kDivided, more); }
  SUBCASE("gradients on 4 processes") { check_kills("gradients-4", 4, kDividedGradients, more); }
  SUBCASE("parameters on 4 processes") { check_kills("weights-4", 4, kDividedWeights, more); }
}

TEST_CASE("after a lost process all processes restart from the newest checkpoint") {
  for (const int processes : {1, 2}) {
    CAPTURE(processes);
    const std::string name = "restarted-" + std::to_string(processes), whole = name + "-whole";
    REQUIRE(run_host(arguments_of(whole, processes, {})).exit_code == 0);
    check_errors(
        run_host(joined(arguments_of(name, processes, {}), {"--restarts", "1"}), "env TENON_TEST_FAULTY_STEP=10"), 0,
        {"was ended by SIGKILL", "restart 1 of 1: the run resumes from its newest checkpoint"});
    CHECK(weights_of(run_of(name)) == weights_of(run_of(whole)));
  }
}

TEST_CASE("a finished run is reported, and a new run starts if there is nothing to resume") {
  require_success(run_host(arguments_of("done", 1, {"train.epochs=1"}, "auto")));
  const Outcome again = require_success(run_host(arguments_of("done", 1, {"train.epochs=1"}, "latest")));
  CHECK(contains(again.output, "has finished: step 12 was its last step. To continue training, raise train.epochs"));
  find_run_folder(tenon::test_folder() / "resumed", "done");
  const Outcome longer = require_success(run_host(arguments_of("done", 1, {"train.epochs=2"}, "latest")));
  CHECK(contains(longer.output, "resumed from "));
  CHECK_FALSE(contains(longer.output, "crashed"));
  CHECK(contains(longer.errors, "train.epochs: 1, now 2"));
  CHECK(contains(longer.output, "finished after 24 steps"));
}

TEST_CASE("an earlier checkpoint is resumed in a new folder") {
  const std::vector<std::string> settings{"checkpoint.keep=9", "checkpoint.monitor=\"\""};
  REQUIRE(run_host(arguments_of("fork", 1, settings)).exit_code == 0);
  const fs::path whole = run_of("fork");
  require_success(run_host(arguments_of("fork", 1, settings, (whole / "checkpoints/step-00000008").string())));
  std::vector<fs::path> runs(fs::directory_iterator(runs_of("fork")), {});
  REQUIRE(runs.size() == 2);
  const fs::path& other = runs[0] == whole ? runs[1] : runs[0];
  CHECK(weights_of(other) == weights_of(whole));
  CHECK(read_history_without_times(other) == read_history_without_times(whole));
}

TEST_CASE("the best checkpoint is kept, has a link, and can be resumed") {
  const std::vector<std::string> settings{"checkpoint.every=\"1 step\"", "checkpoint.keep=1", "checkpoint.mode=\"max\"",
                                          "validation.every=\"4 steps\""};
  const Outcome first = require_success(run_host(arguments_of("best", 1, settings)));
  const fs::path run = run_of("best");
  // The loss falls, so that the first validation has the highest one.
  CHECK(fs::read_symlink(run / "checkpoints/best") == "step-00000004");
  CHECK(fs::exists(run / "checkpoints/step-00000036"));
  CHECK(!fs::exists(run / "checkpoints/step-00000035"));
  CHECK(contains(first.output, "best validation/loss "));
  CHECK(contains(first.output, ", after step 4, in "));
  CHECK(contains(first.output, "/checkpoints/best/model.safetensors\n"));
  std::vector<std::string> evaluate{"evaluate", "--checkpoint", "best"};
  const std::vector<std::string> arguments = arguments_of("best", 1, settings);
  std::ranges::remove_copy_if(arguments, std::back_inserter(evaluate),
                              [](const std::string& one) { return one == "--processes" || one == "1"; });
  const Outcome evaluated = run_host(evaluate);
  CAPTURE(evaluated.errors);
  CHECK(contains(evaluated.output, "checkpoints/step-00000004 (epoch 1, step 4, the best by validation/loss)"));
  const Outcome again = require_success(run_host(arguments_of("best", 1, settings, "best")));
  CHECK(contains(again.output, "step-00000004 (epoch 1, step 4)"));
  CHECK(run_of("best") != run);
  CHECK(weights_of(run_of("best")) == weights_of(run));
  check_errors(run_host(arguments_of("nowhere", 1, {}, "best")), 5, {"no run has a best checkpoint"});
}

TEST_CASE("SIGUSR1 requests a checkpoint from a single process or from the launcher") {
  for (const int processes : {1, 2}) {
    CAPTURE(processes);
    const std::string name = "requested-" + std::to_string(processes);
    const std::string how = processes == 1 ? "request_save" : "request_save_of_launcher";
    // The run is very long. The callback ends it after the checkpoint.
    const Outcome outcome = require_success(
        run_host(arguments_of(name, processes,
                              {"callback.0.params={how=\"" + how + "\",where=\"step\"}", "checkpoint.every=\"never\"",
                               "checkpoint.monitor=\"\"", "train.epochs=100000", "validation.every=\"never\""})));
    CHECK(contains(outcome.output, "the requested checkpoint is saved"));
    if (processes == 1) CHECK(fs::exists(run_of(name) / "checkpoints/step-00000006"));
  }
}

TEST_CASE("a damaged checkpoint is skipped, or refused with a suggestion if it was named") {
  // The checkpoint is written synchronously: the kill two steps later needs the checkpoint of step 8.
  const std::vector<std::string> settings{"checkpoint.keep=9", "checkpoint.monitor=\"\"",
                                          "checkpoint.asynchronous=false"};
  REQUIRE(run_host(arguments_of("damaged", 1, settings), "env TENON_TEST_FAULTY_STEP=10").exit_code == 137);
  const fs::path run = run_of("damaged");
  const fs::path weights = run / "checkpoints/step-00000008/model.safetensors";
  REQUIRE(fs::exists(weights));
  std::fstream(weights, std::ios::in | std::ios::out | std::ios::binary).seekp(1000).put('\x55');
  check_errors(run_host(arguments_of("damaged", 1, settings, weights.parent_path().string())), 5,
               {"step-00000008/model.safetensors: its XXH128 is ", "step-00000004 is intact"});
  const Outcome latest = run_host(arguments_of("damaged", 1, settings, "auto"));
  check_errors(latest, 0, {"; skipped"});
  CHECK(contains(latest.output, "step-00000004 (epoch 1, step 4)"));
}

TEST_CASE("a history that is shorter than the checkpoint expects is refused") {
  const std::vector<std::string> settings{"checkpoint.asynchronous=false"};
  REQUIRE(run_host(arguments_of("shortened", 1, settings), "env TENON_TEST_FAULTY_STEP=10").exit_code == 137);
  const fs::path history = run_of("shortened") / "history.jsonl";
  std::ifstream lines(history);
  std::string first;
  std::getline(lines, first);
  const std::string whole = read_file(history);
  const std::string manifest = read_file(run_of("shortened") / "checkpoints/latest/manifest.json");
  const auto expected = nlohmann::json::parse(manifest)["state"]["history.lines"].get<int>();
  REQUIRE(expected > 1);
  for (const auto& [text, lines_found] : {std::pair(first + "\n", 1), std::pair(std::string(), 0)}) {
    const int found = lines_found;
    CAPTURE(found);
    write_file(history, text);
    const Outcome outcome = run_host(arguments_of("shortened", 1, settings, "latest"));
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 5);
    CHECK(outcome.errors.find("error: " + history.string() + ": has " + std::to_string(found) +
                              (found == 1 ? " line" : " lines") + "; the checkpoint expects " +
                              std::to_string(expected) + " or more") == 0);
    CHECK(read_file(history) == text);
  }
  write_file(history, whole);
  CHECK(run_host(arguments_of("shortened", 1, settings, "latest")).exit_code == 0);
}

TEST_CASE("the newest run is the one that began last, also after the clock was ahead") {
  const std::vector<std::string> settings{"checkpoint.asynchronous=false"};
  const auto kill_run = [&] {
    REQUIRE(run_host(arguments_of("clock", 1, settings), "env TENON_TEST_FAULTY_STEP=6").exit_code == 137);
  };
  const std::string ahead = "2099-01-01T00-00-00";
  kill_run();
  fs::rename(run_of("clock"), runs_of("clock") / ahead);
  kill_run();
  REQUIRE(fs::exists(runs_of("clock") / (ahead + "-2")));
  fs::rename(runs_of("clock") / (ahead + "-2"), runs_of("clock") / (ahead + "-9"));
  kill_run();
  // A run of another name that began after them. Its name has the true time.
  REQUIRE(run_host(arguments_of("later", 1, {"train.epochs=1"})).exit_code == 0);
  const Outcome listed = run_host({"runs", (tenon::test_folder() / "resumed").string(), "--json"});
  std::string names;
  const auto runs = nlohmann::json::parse(listed.output)["runs"];
  for (const auto& run : runs) names += run["run"].get<std::string>() + "\n";
  CHECK(names == "later/" + run_of("later").filename().string() + "\nclock/" + ahead + "-10\nclock/" + ahead +
                     "-9\nclock/" + ahead + "\n");
  const Outcome resumed = require_success(run_host(arguments_of("clock", 1, settings, "auto")));
  CHECK(contains(resumed.output, "resumed from " + (runs_of("clock") / (ahead + "-10")).string()));
}

TEST_CASE("a signal ends a run that has not begun because another process has locked the folder of its name") {
  for (const int processes : {1, 2}) {
    CAPTURE(processes);
    const std::string name = "waiting-" + std::to_string(processes);
    fs::create_directories(runs_of(name));
    const tenon::support::FileDescriptor lock(::open(runs_of(name).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
    REQUIRE(::flock(lock.number(), LOCK_EX) == 0);
    // Sends the signal as soon as the host reports that it waits.
    write_file(tenon::test_folder() / "stop.sh",
               "\"$@\" & host=$!\n"
               "until grep -q 'waiting for the process that has locked' errors.txt; do sleep 0.05; done\n"
               "kill -TERM $host; wait $host\n");
    check_errors(run_host(arguments_of(name, processes, {}), "timeout -s KILL 120 bash stop.sh"), 143,
                 {runs_of(name).string() + ": stopped by signal 15 while the run waited for a lock"});
    CHECK(fs::is_empty(runs_of(name)));
  }
}

TEST_CASE("a killed run resumes in the middle of an epoch with other numbers of processes") {
  struct Change {
    int before, after;
    std::vector<std::string> more;
  };
  for (const Change& change : {Change{1, 2, {}}, Change{2, 1, {}}, Change{2, 3, kDivided}, Change{3, 2, kMixed},
                               Change{2, 3, kDividedWeights}, Change{3, 2, kDividedScheduleFreeWeights}}) {
    CAPTURE(change.before);
    CAPTURE(change.after);
    const std::string name = "dealt-" + std::to_string(change.before) + std::to_string(change.after);
    fs::remove_all(runs_of(name));
    const std::vector<std::string> settings =
        joined(change.more, {"checkpoint.asynchronous=false", "checkpoint.every=\"1 step\""});
    const Outcome killed =
        run_host(arguments_of(name, change.before, settings, "auto"), "env TENON_TEST_FAULTY_STEP=1");
    REQUIRE(killed.exit_code == (change.before == 1 ? 137 : 6));
    const Outcome resumed = require_success(run_host(arguments_of(name, change.after, settings, "auto")));
    CHECK(contains(resumed.output, "resumed from "));
    CHECK(contains(resumed.errors, "the run had " + std::to_string(change.before) + " processes and has " +
                                       std::to_string(change.after) +
                                       " now, which share the remaining samples of epoch 1: "));
    // Each epoch is in the history once.
    std::vector<int> epochs;
    for (const std::string& line : parts_of(read_history_without_times(run_of(name)), '\n'))
      if (const auto event = nlohmann::json::parse(line); event["event"] == "epoch") epochs.push_back(event["epoch"]);
    CHECK(epochs == std::vector<int>{1, 2, 3});
    const Outcome again = run_host(arguments_of(name, change.after, settings, "latest"));
    CHECK(contains(again.output, " has finished: step "));
    CHECK(run_host({"checkpoint", "verify", run_of(name).string()}).exit_code == 0);
  }
}

TEST_CASE("a run resumes only with settings that match its state") {
  REQUIRE(run_host(arguments_of("changed", 1, {}), "env TENON_TEST_FAULTY_STEP=10").exit_code == 137);
  check_errors(run_host(arguments_of("changed", 1, {"model.params={hidden=[16]}"}, "auto")), 5,
               {"model.params.hidden: [32], now [16]"});
  check_errors(run_host(arguments_of("changed", 1, {"data.shuffle=false"}, "auto")), 5,
               {"expected these values unchanged, in the middle of epoch 1"});
  check_errors(run_host(arguments_of("nowhere", 1, {}, "latest")), 5, {"no run has a checkpoint to resume from"});
  check_errors(run_host(arguments_of("changed", 1, {"optimizer.lr=0.02"}, "auto")), 0,
               {"optimizer.lr: 0.01, now 0.02"});
}

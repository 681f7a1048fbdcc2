// Kills a run, or simulates a disk failure, at one of the system calls of a save. The previous checkpoint must stay
// intact and the run must be able to resume. intercepted_calls.cpp logs the calls of a run, and kills the process or
// fails the call at a given number.
#include <doctest/doctest.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <regex>
#include <set>
#include <sstream>
#include <string>
#include <vector>

#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

// Saves at steps 2, 3, 4 and 6. That of step 3 is the first with a validation: it also sets the link `best` and removes
// the earlier checkpoint. That of step 6 is after the last step, and removes two checkpoints.
constexpr const char* kRunFile = R"([run]
deterministic = true
threads = 1
[model]
use = "mlp"
params = { hidden = [8] }
[data]
batch_size = 24
workers = 0
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[validation]
every = "3 steps"
[[loss]]
use = "cross_entropy"
[train]
steps = 6
[checkpoint]
every = "2 steps"
keep = 1
[optimizer]
use = "sgd"
lr = 0.1
)";
constexpr int kSteps = 6;

struct Setup {
  int processes;
  bool is_asynchronous;  // a separate thread saves
};

// Both kinds of saves run the same code. With two processes, rank 0 saves.
constexpr Setup kSynchronous{1, false}, kAsynchronous{1, true}, kDistributed{2, true};

std::vector<std::string> arguments_of(const std::string& name, const Setup& setup, const std::string& resume = "") {
  const fs::path file = write_file(tenon::test_folder() / "saving.toml", kRunFile);
  std::vector<std::string> arguments{
      "--config",    file.string(),
      "--processes", std::to_string(setup.processes),
      "--set",       "run.name=\"" + name + "\"",
      "--set",       "run.output_dir=\"" + (tenon::test_folder() / "saves").string() + "\"",
      "--set",       std::string("checkpoint.asynchronous=") + (setup.is_asynchronous ? "true" : "false")};
  if (!resume.empty()) arguments.insert(arguments.end(), {"--resume", resume});
  return arguments;
}

fs::path runs_of(const std::string& name) { return tenon::test_folder() / "saves" / name; }

fs::path newest_run_of(const std::string& name) {
  fs::path newest;
  std::error_code error;  // the process may have been killed before it created the folder
  for (const fs::directory_entry& run : fs::directory_iterator(runs_of(name), error))
    newest = std::max(newest, run.path());
  return newest;
}

std::string read_weights(const std::string& name) {
  return read_file(newest_run_of(name) / "checkpoints/latest/model.safetensors");
}

std::string name_step(int step) { return "step-0000000" + std::to_string(step); }

// One call of a run. The paths are relative to the run folder.
struct Call {
  std::string thread;
  std::string result;  // see intercepted_calls.cpp
  std::string name, path;
  std::string target;  // of a rename; otherwise empty

  bool operator==(const Call&) const = default;
  // Opening a file to read or to sync it does not change the disk.
  bool changes() const { return name != "open"; }
};

std::ostream& operator<<(std::ostream& stream, const Call& call) {
  return stream << call.thread << ' ' << call.result << ' ' << call.name << ' ' << call.path << ' ' << call.target;
}

// `result`: see intercepted_calls.cpp. Empty: nothing happens at any call.
std::string intercept(const std::string& name, size_t number = 0, const std::string& result = "") {
  fs::remove(tenon::test_folder() / "calls.txt");
  std::string prefix = "LD_PRELOAD='" TENON_BINARY_DIR "/tests/bin/libintercepted_calls.so' TENON_TEST_CALLS_OF='" +
                       runs_of(name).string() + "' TENON_TEST_CALLS_LOG=calls.txt";
  if (!result.empty()) prefix += " TENON_TEST_CALL=" + std::to_string(number) + " TENON_TEST_CALL_RESULT=" + result;
  return prefix;
}

// Returns the calls of the last run. Fails the test if two processes made them.
std::vector<Call> read_calls() {
  std::ifstream log(tenon::test_folder() / "calls.txt");
  std::set<std::string> processes;
  std::vector<Call> calls;
  for (std::string line; std::getline(log, line);) {
    std::istringstream words(line);
    std::string process;
    Call call;
    words >> process >> call.thread >> call.result >> call.name >> call.path >> call.target;
    processes.insert(process);
    calls.push_back(call);
  }
  CHECK(processes.size() == 1);
  return calls;
}

// Returns the indices of the first calls of the saves.
std::vector<size_t> find_saves(const std::vector<Call>& calls) {
  std::vector<size_t> saves;
  for (size_t i = 0; i < calls.size(); ++i)
    if (calls[i].name == "mkdir" && calls[i].path != "checkpoints") saves.push_back(i);
  REQUIRE(saves.size() == 4);
  return saves;
}

// A run that is not disturbed.
struct WholeRun {
  std::vector<Call> calls;
  std::string weights;
};

WholeRun run_whole(const Setup& setup) {
  const std::string name = "whole";
  fs::remove_all(runs_of(name));
  require_success(run_host(arguments_of(name, setup), intercept(name)));
  WholeRun whole{read_calls(), read_weights(name)};
  REQUIRE(!whole.weights.empty());
  std::set<std::string> threads;
  for (size_t i = find_saves(whole.calls)[0]; i < whole.calls.size(); ++i)
    if (whole.calls[i].changes()) threads.insert(whole.calls[i].thread);
  CHECK(threads == std::set<std::string>{setup.is_asynchronous ? "other" : "main"});
  return whole;
}

// Returns the step of the newest checkpoint that is complete before a call. 0: none.
int find_committed_step(const std::vector<Call>& calls, size_t index) {
  int committed = 0;
  for (size_t i = 0; i < index; ++i)
    for (int step = 1; step <= kSteps; ++step)
      if (calls[i].target == "checkpoints/" + name_step(step)) committed = step;
  return committed;
}

// Returns the checkpoint or link that a call belongs to: "step-00000002" for a call with the path
// "checkpoints/.step-00000002.tmp/model.safetensors".
std::string find_entry(const Call& call) {
  const fs::path path = call.path;
  const std::string entry = path.has_parent_path() ? std::next(path.begin())->string() : path.string();
  return entry.starts_with('.') ? fs::path(entry.substr(1)).stem().string() : entry;
}

// Returns the call with "new" for the saved step and "earlier" for other steps.
std::string describe_kind(const Call& call, const std::string& saved_step) {
  std::ostringstream text;
  text << call;
  const std::string kind = std::regex_replace(text.str(), std::regex(saved_step), "new");
  return std::regex_replace(kind, std::regex("step-[0-9]+"), "earlier");
}

// The writes to one file that follow each other.
struct Writes {
  size_t first, middle;
};

Writes find_writes(const std::vector<Call>& calls, size_t one) {
  size_t first = one, end = one;
  while (first > 0 && calls[first - 1] == calls[one]) --first;
  while (end < calls.size() && calls[end] == calls[one]) ++end;
  return {first, first + (end - first) / 2};
}

// Whether a call opens a file or folder to sync it. It is a part of writing, as opposed to the opening of other
// checkpoints to read them.
bool is_opened_to_sync(const std::vector<Call>& calls, size_t one) {
  if (calls[one].name != "open" || one + 1 == calls.size()) return false;
  return calls[one + 1].name == "fsync" && calls[one + 1].path == calls[one].path;
}

// Returns the indices of the calls at which a sweep disturbs a run. It leaves out three kinds of calls.
//
// Calls that read.
//
// Writes, except for the first and a middle one of each file. Until the last write, a file is empty or has a part of
// its content. Its folder then has a temporary name, and the host only removes such a folder, so the number of bytes
// does not matter.
//
// Calls of the third and the fourth save that the second save or the third one also makes, for other steps. What the
// run does next may differ, so one call of each name is tried in each save.
std::vector<size_t> choose_calls(const std::vector<Call>& calls) {
  const std::vector<size_t> saves = find_saves(calls);
  std::vector<size_t> chosen;
  std::set<std::string> kinds, names;  // of the calls since the second save, and of those of one save
  std::string step;
  for (size_t i = saves[0]; i < calls.size(); ++i) {
    const Call& call = calls[i];
    if (std::ranges::find(saves, i) != saves.end()) {
      step = find_entry(call);
      names.clear();
    }
    if (!call.changes() && !is_opened_to_sync(calls, i)) continue;
    const bool is_new_kind = i >= saves[1] && kinds.insert(describe_kind(call, step)).second;
    const bool is_new_name = names.insert(call.name).second;
    if (i >= saves[2] && !is_new_kind && !is_new_name) continue;
    const Writes writes = find_writes(calls, i);
    if (call.name != "write" || i == writes.first || i == writes.middle) chosen.push_back(i);
  }
  return chosen;
}

// What happens at a call.
struct Trial {
  size_t index;
  std::string result;  // see intercepted_calls.cpp
};

// A kill at a call that does not change the disk is the same as one at the next call that does.
std::vector<Trial> list_kills(const std::vector<Call>& calls) {
  std::vector<Trial> trials;
  for (const size_t i : choose_calls(calls)) {
    if (!calls[i].changes()) continue;
    const bool is_write = calls[i].name == "write";
    const Writes writes = find_writes(calls, i);
    if (!is_write || i == writes.first) trials.push_back({i, "kill"});
    if (is_write && i == writes.middle) trials.push_back({i, "tear"});
  }
  return trials;
}

// The calls fail alternately with one of two errors. `shift`: 0 or 1, to exchange them. Except for the message, no code
// of a save depends on the error.
std::vector<Trial> list_failures(const std::vector<Call>& calls, size_t shift) {
  std::vector<Trial> trials;
  for (const size_t i : choose_calls(calls))
    trials.push_back({i, std::to_string((trials.size() + shift) % 2 == 0 ? ENOSPC : EIO)});
  return trials;
}

enum class Amount { some, all };

// `some`: one write, one rename and one removal of the second save.
std::vector<Trial> choose(const std::vector<Trial>& trials, const std::vector<Call>& calls, Amount amount) {
  if (amount == Amount::all) {
    MESSAGE(trials.size() << " trials at the " << calls.size() << " calls of a run");
    return trials;
  }
  std::set<std::string> names{"write", "rename", "unlink"};
  std::vector<Trial> chosen;
  for (const Trial& trial : trials)
    if (trial.index >= find_saves(calls)[1] && names.erase(calls[trial.index].name) == 1) chosen.push_back(trial);
  return chosen;
}

// Runs the host. Checks that it made the same calls as the whole run up to the call of the trial, and that this is the
// call at which something happened.
Outcome disturb(const std::string& name, const Setup& setup, const WholeRun& whole, const Trial& trial) {
  fs::remove_all(runs_of(name));
  const Outcome outcome = run_host(arguments_of(name, setup), intercept(name, trial.index + 1, trial.result));
  const std::vector<Call> calls = read_calls();
  REQUIRE(calls.size() > trial.index);
  size_t same = 0;
  while (same < trial.index && calls[same] == whole.calls[same]) ++same;
  Call expected = whole.calls[same];
  if (same == trial.index) expected.result = trial.result;
  CHECK(calls[same] == expected);
  return outcome;
}

// Returns the step of the newest checkpoint that a run can resume from. 0: none. A failed run may also have a
// checkpoint with only weights.
int find_newest_step(const fs::path& run) {
  int newest = 0;
  for (int step = 1; step <= kSteps; ++step)
    if (fs::exists(run / "checkpoints" / name_step(step) / "training.safetensors")) newest = step;
  return newest;
}

// `committed`: the step of a checkpoint that the run must have, or 0.
void resume_run(const std::string& name, const Setup& setup, const std::string& expected, int committed) {
  const fs::path run = newest_run_of(name);
  const int newest = find_newest_step(run);
  CHECK(newest >= committed);
  // After a run that has finished, a new one starts.
  const bool has_finished = !run.empty() && read_file(run / "run.json").find("\"finished\"") != std::string::npos;
  const Outcome outcome = require_success(run_host(arguments_of(name, setup, "auto")));
  const size_t resumed = outcome.output.find("resumed from");
  if (newest == 0 || has_finished)
    CHECK(resumed == std::string::npos);
  else
    CHECK(outcome.output.find(", step " + std::to_string(newest) + ")", resumed) != std::string::npos);
  CHECK(outcome.errors.find("XXH128") == std::string::npos);  // no checkpoint was found damaged
  CHECK(read_weights(name) == expected);
}

void check_kills(const Setup& setup, Amount amount) {
  CAPTURE(setup.processes);
  const WholeRun whole = run_whole(setup);
  for (const Trial& trial : choose(list_kills(whole.calls), whole.calls, amount)) {
    CAPTURE(whole.calls[trial.index]);
    CAPTURE(trial.result);
    const Outcome killed = disturb("killed", setup, whole, trial);
    CHECK(killed.exit_code == (setup.processes == 1 ? 137 : 6));  // 6: a process of the run was killed
    CHECK(read_calls().size() == trial.index + 1);
    resume_run("killed", setup, whole.weights, find_committed_step(whole.calls, trial.index));
  }
}

void check_failures(const Setup& setup, Amount amount) {
  CAPTURE(setup.is_asynchronous);
  const WholeRun whole = run_whole(setup);
  const size_t shift = setup.is_asynchronous ? 1 : 0;
  for (const Trial& trial : choose(list_failures(whole.calls, shift), whole.calls, amount)) {
    const Call& call = whole.calls[trial.index];
    CAPTURE(call);
    CAPTURE(trial.result);
    const Outcome failed = disturb("failed", setup, whole, trial);
    CAPTURE(failed.errors);
    // What remains of a removed checkpoint is a warning.
    const bool is_removal = call.name == "unlink" && call.path.find(".tmp") != std::string::npos;
    CHECK(failed.exit_code == (is_removal ? 0 : 11));
    const std::string folder = (newest_run_of("failed") / "checkpoints").string();
    CHECK(failed.errors.find(folder) != std::string::npos);
    CHECK(failed.errors.find(find_entry(call), failed.errors.find(folder)) != std::string::npos);
    CHECK(failed.errors.find(std::strerror(std::stoi(trial.result))) != std::string::npos);
    if (is_removal) {
      CHECK(failed.errors.find("warning: ") != std::string::npos);
      CHECK(read_weights("failed") == whole.weights);
      continue;
    }
    resume_run("failed", setup, whole.weights, find_committed_step(whole.calls, trial.index));
  }
}

void check_random_kills(const Setup& setup, int count) {
  std::mt19937 random(static_cast<unsigned>(setup.processes));
  fs::remove_all(runs_of("whole"));
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(run_host(arguments_of("whole", setup)).exit_code == 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string expected = read_weights("whole");
  for (int i = 0; i < count; ++i) {
    // The first part of a run has no checkpoints yet.
    const double moment = seconds * std::uniform_real_distribution<double>(0.4, 1.1)(random);
    CAPTURE(moment);
    fs::remove_all(runs_of("random"));
    const Outcome killed = run_host(arguments_of("random", setup), "timeout -s KILL " + std::to_string(moment));
    CHECK((killed.exit_code == 137 || killed.exit_code == 0));
    resume_run("random", setup, expected, 0);
  }
}

// Returns the names of the calls that change checkpoints, as strace(1) has seen them and as intercepted_calls.cpp names
// them. A call that is unknown here keeps its name. Calls that fail change nothing.
std::string read_traced_changes() {
  const std::set<std::string> reading{"access",   "close",      "faccessat2", "fcntl",      "fstat",   "getdents64",
                                      "lseek",    "lstat",      "mmap",       "newfstatat", "pread64", "read",
                                      "readlink", "readlinkat", "stat",       "statfs",     "statx"};
  const std::map<std::string, std::string> names{
      {"mkdirat", "mkdir"}, {"openat", "create"},     {"renameat", "rename"}, {"renameat2", "rename"},
      {"rmdir", "unlink"},  {"symlinkat", "symlink"}, {"unlinkat", "unlink"}};
  std::ifstream trace(tenon::test_folder() / "strace.txt");
  std::string changes;
  for (std::string line; std::getline(trace, line);) {  // 4711 write(7</some/checkpoints/file>, ...
    if (line.find("/checkpoints") == std::string::npos) continue;
    const size_t begin = line.find_first_not_of("0123456789 ");
    const std::string name = line.substr(begin, line.find('(') - begin);
    if (line.find(") = -1 ") != std::string::npos || reading.contains(name) ||
        (name == "openat" && line.find("O_CREAT") == std::string::npos))
      continue;
    const auto found = names.find(name);
    changes += (found == names.end() ? name : found->second) + ' ';
  }
  return changes;
}

}  // namespace

TEST_CASE("every call that changes a checkpoint is intercepted") {
  std::string intercepted;
  for (const Call& call : run_whole(kSynchronous).calls)
    if (call.changes()) intercepted += call.name + ' ';
  const std::string strace = "strace -f -qq -y -s 0 -o strace.txt -e trace=%file,%desc";
  CHECK(run_host(arguments_of("traced", kSynchronous), strace).exit_code == 0);
  CHECK(read_traced_changes() == intercepted);
}

TEST_CASE("a run may be killed at a call of a save") { check_kills(kSynchronous, Amount::some); }
TEST_CASE("a run of several processes may be killed at a call of a save") { check_kills(kDistributed, Amount::some); }
TEST_CASE("a run may be killed at any time") { check_random_kills(kSynchronous, 2); }
TEST_CASE("a run of several processes may be killed at any time") { check_random_kills(kDistributed, 2); }
TEST_CASE("a disk may fail or be full at a call of a save") { check_failures(kSynchronous, Amount::some); }
TEST_CASE("a disk may fail or be full while a thread saves") { check_failures(kAsynchronous, Amount::some); }

TEST_SUITE_BEGIN("soak");

TEST_CASE("a run may be killed at every call of a save" * doctest::skip()) {
  check_kills(kSynchronous, Amount::all);
  check_kills(kDistributed, Amount::all);
}

// TENON_RANDOM_KILLS=N sets the number of kills.
TEST_CASE("a run may be killed at many times" * doctest::skip()) {
  const char* const given = std::getenv("TENON_RANDOM_KILLS");
  const int count = given ? std::atoi(given) : 100;
  check_random_kills(kSynchronous, count / 2);
  check_random_kills(kDistributed, count / 2);
}

TEST_CASE("a disk may fail or be full at every call of a save" * doctest::skip()) {
  check_failures(kSynchronous, Amount::all);
  check_failures(kAsynchronous, Amount::all);
}

TEST_SUITE_END();

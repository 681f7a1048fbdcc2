// Kills a run, or simulates a disk failure, at one of the system calls of a save. The previous checkpoint must stay
// intact and the run must be able to resume. strace(1) kills the process or fails the call at a given number.
#include <doctest/doctest.h>

#include <chrono>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>
#include <random>
#include <sstream>

#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

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

constexpr const char* kChanging =
    "openat,write,fsync,rename,renameat2,mkdir,symlink,unlink,unlinkat,rmdir,ftruncate,fallocate";

// One call of a program: the count-th of this name on its thread.
struct Call {
  std::string name;
  int count;
};

// Returns whether a separate thread saves.
bool is_asynchronous(const std::string& name) { return name.ends_with("asynchronous"); }

std::vector<std::string> arguments_of(const std::string& name, int processes, const std::string& resume = "") {
  const fs::path file = write_file(tenon::test_folder() / "saving.toml", kRunFile);
  fs::create_directory(tenon::test_folder() / "saves");  // if the first run created it, call numbers would shift
  std::vector<std::string> arguments{
      "--config",    file.string(),
      "--processes", std::to_string(processes),
      "--set",       "run.name=\"" + name + "\"",
      "--set",       "run.output_dir=\"" + (tenon::test_folder() / "saves").string() + "\""};
  arguments.insert(arguments.end(),
                   {"--set", std::string("checkpoint.asynchronous=") + (is_asynchronous(name) ? "true" : "false")});
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

std::string strace(const std::string& how) {
  return std::string("strace -f -qq -y -o strace.txt -e trace=") + kChanging + " " + how;
}

// Finds the calls of the saving thread: "4711 write(7</some/checkpoints/file>, ...".
std::vector<Call> find_saving_calls() {
  std::ifstream trace(tenon::test_folder() / "strace.txt");
  std::map<std::string, std::map<std::string, int>> counts;  // indexed by thread and name
  std::vector<Call> calls;
  for (std::string line; std::getline(trace, line);) {
    std::istringstream words(line);
    std::string thread, call;
    words >> thread >> call;
    const size_t open = call.find('(');
    if (open == std::string::npos) continue;  // the end of an interrupted call or of a thread
    const std::string name = call.substr(0, open);
    const int count = ++counts[thread][name];
    const bool changes = name != "openat" || line.find("O_CREAT") != std::string::npos;
    if (changes && line.find("/checkpoints/") != std::string::npos) calls.push_back({name, count});
  }
  return calls;
}

// A failed run may also have a checkpoint with only weights.
bool has_checkpoint(const fs::path& run) {
  std::error_code error;
  for (const fs::directory_entry& entry : fs::directory_iterator(run / "checkpoints", error))
    if (entry.path().filename().string().starts_with("step-") && fs::exists(entry.path() / "training.safetensors"))
      return true;
  return false;
}

void resume_run(const std::string& name, int processes, const std::string& expected) {
  const fs::path run = newest_run_of(name);
  // After a run that has finished, a new one starts.
  const bool has_finished = !run.empty() && read_file(run / "run.json").find("\"finished\"") != std::string::npos;
  const bool should_resume = has_checkpoint(run) && !has_finished;
  const Outcome outcome = run_host(arguments_of(name, processes, "auto"));
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 0);
  CHECK((outcome.output.find("resumed from") != std::string::npos) == should_resume);
  CHECK(outcome.errors.find("XXH128") == std::string::npos);  // no checkpoint was found damaged
  CHECK(read_file(newest_run_of(name) / "checkpoints/latest/model.safetensors") == expected);
}

// One process saves synchronously, two processes save on a thread. `stride`: 1 for all calls.
void check_kills_at_calls(int processes, size_t stride) {
  CAPTURE(processes);
  const std::string name = processes == 1 ? "killed" : "killed-asynchronous";
  const std::string whole = "whole-" + name;
  fs::remove_all(runs_of(whole));
  REQUIRE(run_host(arguments_of(whole, processes), strace("")).exit_code == 0);
  const std::string expected = read_file(newest_run_of(whole) / "checkpoints/latest/model.safetensors");
  const std::vector<Call> calls = find_saving_calls();
  CHECK(calls.size() > 50);
  for (size_t i = 0; i < calls.size(); i += stride) {
    CAPTURE(calls[i].name);
    CAPTURE(calls[i].count);
    fs::remove_all(runs_of(name));
    const Outcome killed =
        run_host(arguments_of(name, processes),
                 strace("-e inject=" + calls[i].name + ":signal=KILL:when=" + std::to_string(calls[i].count)));
    // With several processes, another rank than 0 may make the call.
    CHECK(killed.exit_code == (processes == 1 || killed.exit_code == 137 ? 137 : 6));
    resume_run(name, processes, expected);
  }
}

void check_random_kills(int processes, int count) {
  std::mt19937 random(static_cast<unsigned>(processes));
  const std::string name = processes == 1 ? "random" : "random-asynchronous";
  const std::string whole = "whole-" + name;
  fs::remove_all(runs_of(whole));
  const auto begin = std::chrono::steady_clock::now();
  REQUIRE(run_host(arguments_of(whole, processes)).exit_code == 0);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  const std::string expected = read_file(newest_run_of(whole) / "checkpoints/latest/model.safetensors");
  for (int i = 0; i < count; ++i) {
    // The first part of a run has no checkpoints yet.
    const double moment = seconds * std::uniform_real_distribution<double>(0.4, 1.1)(random);
    CAPTURE(moment);
    fs::remove_all(runs_of(name));
    const Outcome killed = run_host(arguments_of(name, processes), "timeout -s KILL " + std::to_string(moment));
    CHECK((killed.exit_code == 137 || killed.exit_code == 0));
    resume_run(name, processes, expected);
  }
}

// `name`: "failed", or "failed-asynchronous" if a thread saves.
void check_failing_disk(const std::string& name, size_t stride) {
  CAPTURE(name);
  const std::string whole = "whole-" + name;
  fs::remove_all(runs_of(whole));
  REQUIRE(run_host(arguments_of(whole, 1), strace("")).exit_code == 0);
  const std::string expected = read_file(newest_run_of(whole) / "checkpoints/latest/model.safetensors");
  const std::vector<Call> calls = find_saving_calls();
  size_t reported = 0, tried = 0;
  for (size_t i = 0; i < calls.size(); i += stride)
    for (const std::string reason : {"ENOSPC", "EIO"}) {
      CAPTURE(calls[i].name);
      CAPTURE(calls[i].count);
      CAPTURE(reason);
      fs::remove_all(runs_of(name));
      const Outcome failed = run_host(arguments_of(name, 1), strace("-e inject=" + calls[i].name + ":error=" + reason +
                                                                    ":when=" + std::to_string(calls[i].count)));
      CAPTURE(failed.errors);
      ++tried;
      // Files that could not be removed are harmless. All other failures must be reported.
      const bool was_muted =
          is_asynchronous(name) && failed.errors.empty();  // the failed call was the write of the message
      if (failed.exit_code != 0) ++reported;
      if (failed.exit_code != 0 && !was_muted) {
        // With a saving thread, the call may belong to another thread and another file of the run.
        if (!is_asynchronous(name)) CHECK(failed.exit_code == 11);
        CHECK(failed.errors.find(is_asynchronous(name) ? "/saves" : "/checkpoints/") != std::string::npos);
        CHECK(failed.errors.find(reason == "EIO" ? "Input/output error" : "No space left on device") !=
              std::string::npos);
      }
      resume_run(name, 1, expected);
    }
  CHECK(reported * 2 > tried);
}

constexpr size_t kSome = 29;  // tests about 3 of 100 calls
constexpr size_t kAll = 1;

}  // namespace

TEST_CASE("a run may be killed at a call of a save") { check_kills_at_calls(1, kSome); }
TEST_CASE("a run of several processes may be killed at a call of a save") { check_kills_at_calls(2, kSome); }
TEST_CASE("a run may be killed at any time") { check_random_kills(1, 2); }
TEST_CASE("a run of several processes may be killed at any time") { check_random_kills(2, 2); }
TEST_CASE("a disk may fail or be full at a call of a save") { check_failing_disk("failed", kSome); }
TEST_CASE("a disk may fail or be full while a thread saves") { check_failing_disk("failed-asynchronous", kSome); }

TEST_SUITE_BEGIN("soak");

TEST_CASE("a run may be killed at every call of a save" * doctest::skip()) {
  check_kills_at_calls(1, kAll);
  check_kills_at_calls(2, kAll);
}

// TENON_RANDOM_KILLS=N sets the number of kills.
TEST_CASE("a run may be killed at many times" * doctest::skip()) {
  const char* const given = std::getenv("TENON_RANDOM_KILLS");
  const int count = given ? std::atoi(given) : 100;
  check_random_kills(1, count / 2);
  check_random_kills(2, count / 2);
}

TEST_CASE("a disk may fail or be full at every call of a save" * doctest::skip()) {
  check_failing_disk("failed", kAll);
  check_failing_disk("failed-asynchronous", kAll);
}

TEST_SUITE_END();

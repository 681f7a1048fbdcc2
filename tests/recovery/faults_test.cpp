// One process of a run ends, hangs or fails at any point. The others must end too, and the message must name the first
// cause.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <random>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::end_to_end;
using tenon::contains;
namespace fs = std::filesystem;

namespace {

constexpr const char* kRunFile = R"([model]
use = "mlp"
[data]
batch_size = 16
[data.train]
use = "digits"
[data.validation]
use = "digits"
params = { split = "test" }
[[loss]]
use = "cross_entropy"
[train]
steps = 40
[validation]
every = "10 steps"
[checkpoint]
every = "20 steps"
[optimizer]
use = "sgd"
lr = 0.1
[distributed]
timeout_s = 4
[[callback]]
use = "faulty"
)";

// Each signal follows the event that the previous one waits for.
const std::string kInterruptTwice =
    "timeout -s KILL 60 sh -c 'env --default-signal=INT \"$@\" & while [ ! -e hanging ]; do sleep 0.1; done; "
    "kill -INT $!; while ! grep -q received errors.txt; do sleep 0.1; done; kill -INT $!; wait $!' sh";

struct Fault {
  int rank;
  std::string how;
  std::string where;  // "open": before the rendezvous of the processes
};

// Counts the processes with this word in their command line.
int count_processes(const std::string& word) {
  int count = 0;
  for (const auto& entry : fs::directory_iterator("/proc")) {
    std::ifstream file(entry.path() / "cmdline");
    const std::string line((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
    count += contains(line, word);
  }
  return count;
}

int expected_code(const Fault& fault) {
  if (fault.how == "throw" || fault.how == "exit") return 3;  // a plugin failure
  return 6;                                                   // a process was lost
}

std::string expected_message(const Fault& fault) {
  const std::string rank = "rank " + std::to_string(fault.rank);
  if (fault.how == "kill") return rank + " was ended by SIGKILL";
  if (fault.how == "abort") return rank + " was ended by SIGABRT";
  if (fault.how == "exit") return "exit() was called in plugin";
  if (fault.how == "throw") return "the requested fault";
  if (fault.how == "stop") return rank + " does not answer; it is stopped (state T)";
  return rank + " is in ";  // and then the plugin and its function
}

// Runs with these parameters of the callback.
Outcome run_with_fault(const std::string& params, const std::vector<std::string>& arguments,
                       const std::string& prefix = "timeout -s KILL 60") {
  fs::remove(tenon::test_folder() / "hanging");
  const fs::path file = write_file(tenon::test_folder() / "faulty.toml", kRunFile);
  return run_host(joined({"--config", file.string(), "--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/faulty",
                          "--set", "callback.0.params=" + params},
                         arguments),
                  prefix);
}

// Trains with the dataset `hanging` and two data workers.
Outcome run_hanging_dataset(const std::string& where, const std::string& rank, const std::string& processes,
                            const std::string& prefix) {
  fs::remove(tenon::test_folder() / "hanging");
  const fs::path file =
      write_file(tenon::test_folder() / "hanging.toml",
                 "[model]\nuse = \"mlp\"\n[data]\nbatch_size = 4\nworkers = 2\n[data.train]\nuse = \"hanging\"\n"
                 "params = { where = \"" +
                     where + "\", rank = " + rank +
                     " }\n[[loss]]\nuse = \"cross_entropy\"\n[train]\nepochs = 1\n[optimizer]\nuse = \"sgd\"\n"
                     "lr = 0.1\n[distributed]\ntimeout_s = 4\nprocesses = " +
                     processes + "\n");
  return run_host({"--config", file.string(), "--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/hanging"},
                  prefix);
}

void check_fault(const Fault& fault, int processes, int number) {
  CAPTURE(fault.rank);
  CAPTURE(fault.how);
  CAPTURE(fault.where);
  CAPTURE(processes);
  const bool is_early = fault.where == "open";
  const std::string name = "fault-" + std::to_string(number);
  const fs::path file = write_file(tenon::test_folder() / "faulty.toml", kRunFile);
  const std::string rank = std::to_string(fault.rank);
  const Outcome outcome = run_host(
      {"--config", file.string(), "--processes", std::to_string(processes), "--plugin-dir",
       TENON_BINARY_DIR "/tests/fixtures/plugins/faulty", "--set", "run.name=\"" + name + "\"", "--set",
       "callback.0.params={rank=" + rank + ",how=\"" + fault.how + "\",where=\"" +
           (is_early ? std::string("nowhere") : fault.where) + "\"}"},
      "env " + (is_early ? "TENON_TEST_FAULTY_RANK=" + rank + " TENON_TEST_FAULTY_HOW=" + fault.how : std::string()) +
          " timeout -s KILL 60");
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == expected_code(fault));
  // Before the rendezvous a process cannot report a failure. The waiting ranks then report the timeout.
  const std::string expected = is_early && fault.how == "hang" ? "rank" : expected_message(fault);
  CHECK(contains(outcome.errors, expected));
  CHECK(count_processes("\"" + name + "\"") == 0);  // fault-1 is not fault-10
}

// Kills a rank of a run with divided weights after this time in training, while it computes or is in a collective.
void check_kill_at(double seconds, int rank, int processes) {
  CAPTURE(seconds);
  CAPTURE(rank);
  CAPTURE(processes);
  const fs::path file = write_file(tenon::test_folder() / "killed.toml", kRunFile);
  write_file(tenon::test_folder() / "kill.sh",
             ": > output.txt\n"  // of the call before
             "\"$@\" > output.txt & host=$!\n"
             "until grep -q step output.txt; do sleep 0.02; done\n"
             "sleep " +
                 std::to_string(seconds) +
                 "\n"
                 "kill -KILL $(pgrep -P $host | sed -n " +
                 std::to_string(rank + 1) + "p)\nwait $host\n");
  const Outcome outcome = run_host(
      {"--config",     file.string(),
       "--processes",  std::to_string(processes),
       "--log-format", "json",
       "--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/faulty",
       "--set",        "run.name=\"killed-any-time\"",
       "--set",        "callback=[]",
       "--set",        "distributed={shard=\"parameters\",timeout_s=4}",
       "--set",        "train.steps=1000000",
       "--set",        "log.every=\"1 step\"",
       "--set",        "model={use=\"vit\",params={image_size=8,patch_size=4,width=12,depth=2,heads=3,mlp_width=20}}"},
      "timeout -s KILL 60 bash kill.sh");
  check_errors(outcome, 6, {"rank " + std::to_string(rank) + " was ended by SIGKILL"});
  CHECK(count_processes("\"killed-any-time\"") == 0);
}

// `server`: "agent" or "rank0", which serves the store.
std::string as_torchrun(const std::string& server) {
  return "timeout -s KILL 60 " TENON_SOURCE_DIR "/tests/recovery/run_as_torchrun.sh " TENON_BINARY_DIR
         "/tests/bin/agent_store " +
         server;
}

}  // namespace

TEST_CASE("a killed process ends the run and is named") {
  check_fault({1, "kill", "step"}, 2, 1);
  check_fault({0, "kill", "evaluate"}, 3, 2);
  check_fault({1, "kill", "open"}, 2, 3);
}

TEST_CASE("a process that is killed at any time ends a run with divided weights and is named") {
  check_kill_at(0.1, 1, 2);
  check_kill_at(0.73, 0, 3);
}

TEST_CASE("a process that throws ends the run and is named") {
  check_fault({2, "throw", "step"}, 3, 4);
  check_fault({0, "throw", "save"}, 2, 5);
  check_fault({0, "throw", "open"}, 2, 6);
}

TEST_CASE("a process that aborts or calls exit() ends the run and is named") {
  check_fault({1, "abort", "save"}, 2, 7);
  check_fault({1, "exit", "start"}, 2, 8);
}

TEST_CASE("a process that hangs ends the run and is named") {
  check_fault({1, "hang", "step"}, 3, 9);
  check_fault({0, "hang", "open"}, 2, 10);
}

// As by a debugger. Rank 0 also serves the store of all ranks.
TEST_CASE("a stopped process ends the run and is named") {
  check_fault({0, "stop", "step"}, 2, 13);
  check_fault({1, "stop", "step"}, 2, 14);
  check_fault({0, "stop", "save"}, 3, 15);
}

// With torchrun's agent, and with the script that starts processes as it does. torchrun is part of PyTorch for Python,
// which a machine for C++ does not have.
TEST_CASE("a stopped process ends the run under torchrun too") {
  std::vector<std::string> launchers{as_torchrun("agent"), as_torchrun("rank0")};
  if (std::system("torchrun --help >/dev/null 2>&1") == 0)
    launchers.emplace_back("timeout -s KILL 120 torchrun --standalone --no-python --nproc-per-node 2");
  for (const std::string& launcher : launchers)
    for (const std::string rank : {"0", "1"}) {
      CAPTURE(launcher);
      CAPTURE(rank);
      check_errors(run_with_fault("{rank=" + rank + ",how=\"stop\",where=\"step\"}", {}, launcher),
                   contains(launcher, "torchrun --") ? 1 : 6,
                   {"rank " + rank + " does not answer; it is stopped (state T), as by SIGSTOP"});
      CHECK(count_processes((tenon::test_folder() / "faulty.toml").string()) == 0);
    }
}

TEST_CASE("a run ends if the store of torchrun does not answer, and names the store") {
  const Outcome outcome = run_with_fault("{rank=0,how=\"stop_agent\",where=\"step\"}", {}, as_torchrun("agent"));
  check_errors(outcome, 6, {"the store of the launcher does not answer"});
  CHECK_FALSE(contains(outcome.errors, "rank 0 does not answer"));
}

TEST_CASE("a run ends if all processes hang in a callback") {
  check_errors(run_with_fault("{rank=-1,how=\"hang\",where=\"step\"}", {"--processes", "2"}), 6,
               {"is in callback \"faulty\" of plugin faulty 0.1.0, function on_event, backward_end, step 5"});
}

TEST_CASE("a run ends if a function of a dataset does not return, also on a worker thread") {
  for (const char* const rank : {"-1", "1"})
    for (const std::string where : {"create", "get"}) {
      CAPTURE(where);
      CAPTURE(rank);
      const Outcome outcome = run_hanging_dataset(where, rank, "2", "timeout -s KILL 60");
      // If both ranks hang, the first one to notice it names itself.
      const std::string named = rank == std::string("1") ? "rank 1 " : "";
      check_errors(outcome, 6, {named + "is in dataset \"hanging\" of plugin hanging 0.1.0, function " + where});
      CHECK(contains(outcome.errors, "on thread tenon-data-") == (where == "get"));
    }
}

TEST_CASE("a run ends if the function fields of a dataset does not return in any process") {
  check_errors(run_host({"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--plugin-dir",
                         TENON_BINARY_DIR "/tests/fixtures/plugins/hanging_fields", "--set",
                         "data.train={use=\"hanging_fields\"}", "--set", "distributed.timeout_s=4", "--processes", "2"},
                        "timeout -s KILL 60"),
               6, {"is in dataset \"hanging_fields\" of plugin hanging_fields 0.1.0, function fields, for "});
}

TEST_CASE("after a first Ctrl-C a run reports the call that it waits for, and a second one ends it") {
  const std::string end = "to end at once without saving, press Ctrl-C again\n";
  const Outcome outcome = run_with_fault("{rank=0,how=\"hang\",where=\"step\"}", {}, kInterruptTwice);
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 130);
  CHECK(outcome.errors.find(
            "warning: received SIGINT: the run ends after the current step; callback \"faulty\" of plugin "
            "faulty 0.1.0, function on_event, backward_end, step 5, has not returned for ") == 0);
  CHECK(outcome.errors.ends_with("s (on the main thread); " + end));
  check_errors(run_hanging_dataset("get", "-1", "1", kInterruptTwice), 130,
               {"dataset \"hanging\" of plugin hanging 0.1.0, function get, train sample 7, has not returned for ",
                "(on thread tenon-data-"});
}

TEST_CASE("after Ctrl-C a run reports what it waits for, also when it cleans up and exits") {
  check_errors(run_hanging_dataset("destroy", "-1", "1", kInterruptTwice), 130,
               {"dataset \"hanging\" of plugin hanging 0.1.0, function destroy, has not returned for "});
  check_errors(run_hanging_dataset("exit", "-1", "1", kInterruptTwice), 130,
               {"received SIGINT: the process is ending"});
}

// The programs run at the same time, each until its message has arrived.
TEST_CASE("a call that does not return is named before training too, and by commands that load plugins") {
  const std::string plugin = TENON_BINARY_DIR "/tests/fixtures/plugins/hanging";
  const std::string copy = (make_empty_folder("copy") / "hanging.so").string();
  fs::copy_file(plugin + "/hanging.so", copy);
  const auto train = [&](const std::string& where) {
    return "--config " TENON_SOURCE_DIR "/configs/digits_mlp.toml --plugin-dir " + plugin +
           " --set 'data.train={use=\"hanging\", params={where=\"" + where + "\"}}'";
  };
  const std::string load = "TENON_TEST_HANG_AT_LOAD=1";
  struct Hanging {
    std::string name, environment, arguments, message;
  };
  const std::string opening = "the opening of " + plugin + "/hanging.so, has not returned for ";
  const Hanging cases[] = {
      {"load", load, train("get"), opening},
      {"create", "", train("create"),
       "dataset \"hanging\" of plugin hanging 0.1.0, function create, has not returned for "},
      {"fields", "",
       "--config " TENON_SOURCE_DIR "/configs/digits_mlp.toml --plugin-dir " + plugin +
           "_fields --set 'data.train={use=\"hanging_fields\"}'",
       "dataset \"hanging_fields\" of plugin hanging_fields 0.1.0, function fields, has not returned for "},
      {"plugins", load, "plugins --load --plugin-dir " + plugin, opening},
      {"describe", load, "describe hanging --ports --plugin-dir " + plugin, opening},
      {"note", load, "note " + copy, "the opening of " + copy + ", has not returned for "}};
  std::string script = "export TENON_PLUGIN_PATH='" TENON_BINARY_DIR "/plugins'\n";
  for (const Hanging& one : cases) {
    const fs::path folder = make_empty_folder(one.name);
    script += "(cd '" + folder.string() + "'; env " + one.environment +
              " " TENON_BINARY_DIR "/tests/bin/impatient_host " + one.arguments +
              " >output.txt 2>errors.txt & while kill -0 $! && ! grep -qF '" + one.message +
              "' errors.txt; do sleep 0.2; done; kill -KILL $!; wait) 2>/dev/null &\n";
  }
  const fs::path file = write_file(tenon::test_folder() / "hanging.sh", script + "wait\n");
  CHECK(std::system(("timeout -s KILL 120 sh '" + file.string() + "'").c_str()) == 0);
  for (const Hanging& one : cases) {
    CAPTURE(one.name);
    const std::string errors = read_file(tenon::test_folder() / one.name / "errors.txt");
    CAPTURE(errors);
    CHECK(contains(errors, one.message));
  }
}

TEST_CASE("a run ignores SIGINT and SIGHUP if they were ignored when it started, and always stops on SIGTERM") {
  const std::string ignored = "timeout -s KILL 60 sh -c 'trap \"\" INT HUP TERM; exec \"$0\" \"$@\"'";
  const std::string handled = "timeout -s KILL 60 env --default-signal=INT,HUP,TERM";
  struct Case {
    std::string how;
    int exit_code;  // if the signal was not ignored when the run started
  };
  for (const std::string processes : {"1", "2"})
    for (const Case& signal : {Case{"interrupt", 130}, Case{"hang_up", 129}, Case{"terminate", 143}}) {
      CAPTURE(processes);
      const std::string& how = signal.how;
      CAPTURE(how);
      const std::string params = "{rank=0,where=\"step\",how=\"" + how + "\"}";
      Outcome outcome = run_with_fault(params, {"--processes", processes}, handled);
      CAPTURE(outcome.errors);
      CHECK(outcome.exit_code == signal.exit_code);
      outcome = run_with_fault(params, {"--processes", processes}, ignored);
      CHECK(outcome.exit_code == (how == "terminate" ? 143 : 0));
    }
  require_success(run_with_fault("{rank=0,where=\"step\",how=\"interrupt_launcher\"}", {"--processes", "2"}, ignored));
}

// TENON_FAULTS=N sets the number of faults.
TEST_CASE("any process may fail in any way at any place" * doctest::test_suite("soak") * doctest::skip()) {
  const char* const given = std::getenv("TENON_FAULTS");
  check_fault({0, "hang", "evaluate"}, 2, 11);
  check_fault({0, "hang", "open"}, 3, 12);
  std::mt19937 random(11);
  const auto pick = [&random](const std::vector<std::string>& from) { return from[random() % from.size()]; };
  for (int i = 0; i < (given ? std::atoi(given) : 40); ++i) {
    const int processes = 2 + static_cast<int>(random() % 3);
    const int rank = static_cast<int>(random() % static_cast<unsigned>(processes));
    check_fault({rank, pick({"kill", "abort", "exit", "throw", "hang", "stop"}),
                 pick({"open", "start", "step", "evaluate", "save"})},
                processes, 100 + i);
    check_kill_at(std::uniform_real_distribution<>(0, 2)(random), rank, processes);
  }
}

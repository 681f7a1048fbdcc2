#include <doctest/doctest.h>

#include <csignal>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "framework/support/diagnostics/sanitizers.h"
#include "framework/support/digests/sha256.h"
#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

std::string fixture_directory(const std::string& name) { return TENON_BINARY_DIR "/tests/fixtures/plugins/" + name; }

Outcome train_with(const std::string& fixture, std::vector<std::string> more = {}) {
  return run_host(
      joined({"--config", TENON_SOURCE_DIR "/configs/digits.toml", "--plugin-dir", fixture_directory(fixture), "--set",
              "run.output_dir=\"" + make_empty_folder("runs").string() + "\""},
             more));
}

}  // namespace

TEST_CASE("a wrong plugin in a directory ends with code 3, its file and the reason") {
  // tests/components/catalogue_test.cpp tests the others.
  const std::pair<const char*, const char*> expected[] = {
      {"missing_entry", "has no symbol tenon_plugin_open; expected a Tenon plugin"},
      {"open_throws", "tenon_plugin_open threw an exception"},
      {"short_table", "the table of dataset \"fixture\" is 56 bytes long; expected at least"},
      {"duplicate_digits", "dataset \"digits\" is in two plugins"},
      {"future_operator", "calls the operator aten::reluu_of_tomorrow: there is no operator aten::reluu_of_tomorrow"}};
  for (const auto& [fixture, message] : expected) {
    check_errors(train_with(fixture), 3, {std::string(fixture) + ".so", message});
  }
}

TEST_CASE("a component that cannot be created ends the run with its plugin and location") {
  for (const auto& [fixture, message] : {std::pair("failing_create", "the licence server does not answer"),
                                         std::pair("throwing_create", "threw an exception: escaped from create")}) {
    check_errors(train_with(fixture, {"--set", "data.train={use=\"fixture\"}"}), 3,
                 {"dataset \"fixture\" of plugin fixture 0.1.0, create (--set data.train)", message});
  }
}

namespace {

struct Ending {
  const char* how;
  int exit_code;
  std::vector<std::string> expected;
};

// Trains with the plugin `ending` of this folder, once on the main thread and once with data workers.
void check_ending(const fs::path& plugins, const Ending& ending) {
  for (const char* workers : {"0", "2"}) {
    const Outcome outcome =
        run_host({"--config", TENON_SOURCE_DIR "/configs/digits.toml", "--plugin-dir", plugins.string(), "--set",
                  "run.output_dir=\"" + make_empty_folder("runs").string() + "\"", "--set",
                  std::string("data.train={use=\"ending\", params={how=\"") + ending.how + "\"}}", "--set",
                  std::string("data.workers=") + workers});
    CAPTURE(ending.how);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == ending.exit_code);
    for (const std::string& text : ending.expected) CHECK(outcome.errors.find(text) != std::string::npos);
  }
}

const std::string kInGet = "/ending.so, dataset ending, function get, train sample 3";

}  // namespace

TEST_CASE("a crash or an exit in a plugin ends the run with plugin, function, sample and cause") {
  // The plugin overwrites this copy.
  const fs::path plugins = make_empty_folder("ending_plugins");
  fs::copy(fixture_directory("ending"), plugins);
  const std::string file = (plugins / "ending.so").string();
  const Ending endings[] = {
      {"crash", 128 + SIGSEGV, {"error: the process crashed with SIGSEGV (invalid memory access) in plugin ", kInGet}},
      {"crash_in_thread",
       128 + SIGSEGV,
       {"SIGSEGV (invalid memory access) in the code of plugin ", "/ending.so, in a thread that the plugin started"}},
      {"overflow_stack",
       128 + SIGSEGV,
       {"error: the process crashed with SIGSEGV (stack overflow) in plugin ", kInGet}},
      {"throw_in_thread",
       128 + SIGABRT,
       {"error: an exception was not caught: the disk turned\n", "error: the process crashed with SIGABRT (abort)"}},
      {"throw_in_noexcept",
       128 + SIGABRT,
       {"error: an exception was not caught: the disk turned\n", "SIGABRT (abort) in plugin ", kInGet + "\n"}},
      {"run_out_of_memory_in_thread", 10, {"error: out of memory: std::bad_alloc; to save memory, "}},
      {"read_shortened_file",
       128 + SIGBUS,
       {"crashed with SIGBUS (invalid memory access) in plugin ", kInGet, "\nByte 5000 of /", "/shortened-",
        "could not be read: the file was shortened while the process used it"}},
      {"overwrite_plugin",
       128 + SIGSEGV,
       {kInGet, "\nThe file " + file + " was overwritten while the process used it"}},
      {"write_constant", 128 + SIGSEGV, {kInGet, "\nThe invalid address is in the memory of " + file + ": "}},
      {"exit", 3, {"error: exit() was called in plugin ", kInGet}},
      {"_exit", 3, {"error: _exit() was called in plugin ", kInGet}},
      {"_Exit", 3, {"error: _Exit() was called in plugin ", kInGet}},
      {"quick_exit", 3, {"error: quick_exit() was called in plugin ", kInGet}},
      {"exit_in_thread",
       3,
       {"error: exit() was called in the code of plugin ", "/ending.so, in a thread that the plugin started; "}},
      {"_exit_in_thread", 3, {"error: _exit() was called in the code of plugin ", "/ending.so, in a thread"}},
      {"exit_in_library", 1, {"error: exit() was called in /", ", outside of any plugin's function; "}}};
  for (const Ending& ending : endings) check_ending(plugins, ending);
}

// The sanitizers replace free().
#if !TENON_IS_SANITIZED
TEST_CASE("damaged memory that is found in or after a function of a plugin suggests host validate") {
  const std::string file = fixture_directory("ending") + "/ending.so";
  check_ending(file, {"free_twice",
                      128 + SIGABRT,
                      {"\nerror: the process crashed with SIGABRT (abort) in plugin ",
                       kInGet + ". If a message of the C library", "run host validate " + file + "\n"}});
  check_ending(file, {"free_twice_in_thread",
                      128 + SIGABRT,
                      {"SIGABRT (abort) outside of any plugin's function. A plugin may have written outside of its",
                       "with host validate: ", file}});
}
#endif

TEST_CASE("a plugin that returns in a process that it forked ends the run and fails its checks") {
  for (const char* workers : {"0", "2"}) {
    check_errors(train_with("forking",
                            {"--set", "data.train={use=\"forking\"}", "--set", std::string("data.workers=") + workers}),
                 3,
                 {"error: dataset \"forking\" of plugin forking 0.1.0, get: returned in a process that it had "
                  "created with fork()"});
  }
  const Outcome validated = run_host({"validate", fixture_directory("forking") + "/forking.so"});
  CHECK(validated.exit_code == 3);
  CHECK(validated.output.find("returned in a process that it had created with fork()") != std::string::npos);
}

TEST_CASE("a plugin that returns in a process that it forked while it was opened is refused") {
  const std::string file = fixture_directory("forking") + "/forking.so";
  for (const std::string place :
       {"initialiser", "entry", "initialiser TENON_TEST_FORK_WAITS=0", "entry TENON_TEST_FORK_WAITS=0"}) {
    CAPTURE(place);
    const std::string environment = "env TENON_TEST_FORK_IN=" + place;
    const Outcome trained = run_host(
        {"--config", TENON_SOURCE_DIR "/configs/digits.toml", "--plugin-dir", fixture_directory("forking"), "--set",
         "run.output_dir=\"" + make_empty_folder("runs").string() + "\"", "--set", "data.train={use=\"forking\"}"},
        environment);
    CAPTURE(trained.errors);
    CHECK(trained.exit_code == 3);
    CHECK(trained.errors.find("error: " + file +
                              ": returned in a process that it had created with fork() while it was "
                              "opened") == 0);
    CHECK(trained.output.empty());

    const Outcome listed =
        run_host({"plugins", "--load", "--json", "--plugin-dir", fixture_directory("forking")}, environment);
    CAPTURE(listed.output);
    CHECK(nlohmann::json::accept(listed.output));
    CHECK(listed.output.find("returned in a process that it had created with fork()") != std::string::npos);

    const Outcome validated = run_host({"validate", file, "--json"}, environment);
    CAPTURE(validated.output);
    CHECK(validated.exit_code == 3);
    CHECK(nlohmann::json::accept(validated.output));
    CHECK(validated.output.find("returned in a process that it had created with fork() while it was opened") !=
          std::string::npos);
  }
}

TEST_CASE("a plugin that returns in a process that it forked in create or in a callback ends the run") {
  struct Case {
    std::string place;  // environment variable
    std::string setting;
    std::string message;
  };
  const Case cases[] = {
      {"create", "data.train={use=\"forking\"}", "dataset \"forking\" of plugin forking 0.1.0, create"},
      {"create", "callback=[{use=\"forking\"}]", "callback \"forking\" of plugin forking 0.1.0, create"},
      {"event", "callback=[{use=\"forking\"}]", "callback \"forking\" of plugin forking 0.1.0, on_event"}};
  for (const Case& forked : cases)
    for (const std::string waits : {"0", "1"})
      for (const std::string processes : {"1", "2"}) {
        CAPTURE(forked.message);
        CAPTURE(waits);
        CAPTURE(processes);
        const Outcome outcome = run_host(
            {"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--plugin-dir", fixture_directory("forking"),
             "--set", "run.output_dir=\"" + make_empty_folder("runs").string() + "\"", "--set", forked.setting,
             "--processes", processes},
            "env TENON_TEST_FORK_WAITS=" + waits + " TENON_TEST_FORK_IN=" + forked.place);
        check_errors(outcome, 3, {forked.message, ": returned in a process that it had created with fork()"});
        CHECK(outcome.output.find("finished") == std::string::npos);
      }
}

TEST_CASE("a plugin may fork a process that calls exec() or ends, and a process that stays is reported") {
  for (const std::string how : {"exec", "end", "stay"}) {
    CAPTURE(how);
    const Outcome outcome =
        require_success(train_with("forking", {"--set", "callback=[{use=\"forking\", params={how=\"" + how + "\"}}]"}));
    const std::string warning =
        "warning: callback \"forking\" of plugin forking 0.1.0, function on_event, run_start, step 0: a process that "
        "it created with fork() still runs in the plugin";
    CHECK((outcome.errors.find(warning) != std::string::npos) == (how == "stay"));
    CHECK(outcome.errors.find("returned in a process") == std::string::npos);
  }
}

TEST_CASE("a plugin that does not wait for a process that it forked leaves none and no second result") {
  const std::string not_waiting = "dataset.forking={ waits = false }";
  const Outcome validated =
      run_host({"validate", fixture_directory("forking") + "/forking.so", "--json", "--params", not_waiting});
  CAPTURE(validated.output);
  CHECK(validated.exit_code == 3);
  CHECK(nlohmann::json::accept(validated.output));
  CHECK(validated.output.find("get: returned in a process that it had created with fork()") != std::string::npos);

  // A forked process would keep the pipe open, and cat would wait for it.
  const Outcome trained =
      run_host({"--config", TENON_SOURCE_DIR "/configs/digits.toml", "--plugin-dir", fixture_directory("forking"),
                "--set", "run.output_dir=\"" + make_empty_folder("runs").string() + "\"", "--set",
                "data.train={use=\"forking\", params={waits=false}}", "--set", "data.workers=2"},
               "timeout -s KILL 120 sh -c '{ \"$0\" \"$@\"; echo \"exit $?\"; } | cat'");
  CAPTURE(trained.output);
  CAPTURE(trained.errors);
  const size_t end = trained.output.find("exit ");
  REQUIRE(end != std::string::npos);
  CHECK(trained.output.substr(end) == "exit 3\n");
  CHECK(trained.errors.find("get: returned in a process that it had created with fork()") != std::string::npos);
}

TEST_CASE("a list that is shorter than its count ends with the plugin's file in the message") {
  check_errors(train_with("stray_field", {"--set", "data.train={use=\"fixture\"}"}), 128 + SIGSEGV,
               {"/stray_field.so, dataset fixture, function fields, reading its result"});
  check_errors(train_with("stray_component"), 128 + SIGSEGV, {"/stray_component.so while it was opened"});
}

TEST_CASE("an unregistered weight of a model ends the first step") {
  check_errors(train_with("unregistered", {"--set", "model={use=\"unregistered\"}"}), 3,
               {"a tensor that requires grad, float32 [10", "is used but not registered"});
}

TEST_CASE("host validate finds an unregistered weight") {
  const Outcome outcome = run_host({"validate", fixture_directory("unregistered") + "/unregistered.so"});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.output.find("a tensor that requires grad, float32 [10") != std::string::npos);
}

TEST_CASE("a failing loss is reported with its inputs and their sources") {
  check_errors(
      train_with("counting", {"--set", "loss=[{use=\"cross_entropy\", params={class_weights=[1, 2]}}]"}), 3,
      {"class_weights has 2 ", "logits = model.logits: float32 [64, 10]", "target = data.label: int64 [64], 0 to 9"});
}

TEST_CASE("a label that is not a class is reported with its dataset and sample") {
  // This dataset does not declare its classes, so only the samples show them.
  const std::string data = "={use=\"torn\"}";
  check_errors(train_with("torn", {"--set", "model={use=\"mlp\", params={classes=4}}", "--set", "data.train" + data,
                                   "--set", "data.validation" + data}),
               4,
               {"dataset \"torn\" of plugin torn", "data.label holds ",
                "; expected 0 to 3 or ignore_index (-100), because it is the input target of loss "
                "\"cross_entropy\""});
}

TEST_CASE("a model that cannot be saved is refused before training, with its plugin and location") {
  for (const auto& [flaw, message] :
       {std::pair("dtype", "the tensor \"phase\": its dtype is complex64, which a checkpoint cannot hold"),
        std::pair("reserved_name", "the tensor \"__metadata__\": the format reserves this name"),
        std::pair("latin1_name", "sse\": the name is not UTF-8")}) {
    const std::string model = "model={use=\"unstorable\", params={flaw=\"" + std::string(flaw) + "\"}}";
    check_errors(train_with("unstorable", {"--set", model, "--check"}), 3,
                 {"--set model: model \"unstorable\" of plugin unstorable 0.1.0: ", message});
  }
}

TEST_CASE("a plugin with another digest than the pinned one ends with code 3 and both digests") {
  const std::string pinned(64, '0');
  const Outcome outcome = train_with("counting", {"--set", "plugins.sha256={\"counting.so\"=\"" + pinned + "\"}"});
  CAPTURE(outcome.errors);
  CHECK(outcome.exit_code == 3);
  const std::string digest = tenon::support::read_sha256(fixture_directory("counting") + "/counting.so");
  CHECK(outcome.errors.find("counting.so: has the SHA-256 " + digest + "; expected " + pinned +
                            ", as --set plugins.sha256 pins it") != std::string::npos);
}

TEST_CASE("a plugin with its pinned digest is used, and a pin of a missing file ends with code 3") {
  const std::string digest = tenon::support::read_sha256(fixture_directory("counting") + "/counting.so");
  const Outcome right = require_success(
      train_with("counting", {"--set", "plugins.sha256={\"counting.so\"=\"" + digest + "\"}", "--check"}));
  CHECK(right.output.find("sha256 = { \"counting.so\" = \"" + digest + "\" }") != std::string::npos);
  check_errors(train_with("counting", {"--set", "plugins.sha256={\"countin.so\"=\"" + digest + "\"}"}), 3,
               {"names the file \"countin.so\", which was not found; did you mean \"counting.so\"?"});
}

TEST_CASE("a missing --plugin-dir ends with code 3") {
  check_errors(run_host({"--config", TENON_SOURCE_DIR "/configs/digits.toml", "--plugin-dir", "nowhere"}), 3,
               {"--plugin-dir: nowhere does not exist"});
}

TEST_CASE("a mistyped --plugin-dir is refused with the nearest folder or plugin file") {
  const std::string folder = TENON_BINARY_DIR "/tests/fixtures/plugins/";
  for (const auto& [wrong, near] :
       {std::pair("countng/", "counting"), std::pair("countng/counting.so", "counting/counting.so"),
        std::pair("counting/countin.so", "counting/counting.so")}) {
    const Outcome outcome = run_host({"plugins", "--plugin-dir", folder + wrong});
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 3);
    CHECK(outcome.errors == "error: --plugin-dir: " + folder + wrong +
                                " does not exist; expected a directory of plugins or a plugin file; did you mean " +
                                folder + near + "?\n");
  }
}

TEST_CASE("out of memory ends with exit code 10 and suggestions to save memory") {
  const std::filesystem::path output = make_empty_folder("too_large");
  check_errors(run_host({"--config", TENON_SOURCE_DIR "/configs/digits_mlp.toml", "--set",
                         "model.params.hidden=[1000000000]", "--set", "run.output_dir=\"" + output.string() + "\""}),
               10, {"error: out of memory: ", "lower data.batch_size and raise train.accumulate by the same factor"});
}

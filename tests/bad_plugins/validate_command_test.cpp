#include <doctest/doctest.h>

#include <nlohmann/json.hpp>

#include "tests/bad_plugins/validated.h"
#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"
#include "tests/test_folder.h"

using namespace tenon::bad_plugins;
using tenon::contains;
using tenon::end_to_end::check_errors;
using tenon::end_to_end::joined;
using tenon::end_to_end::Outcome;
using tenon::end_to_end::run_host;

namespace {

std::string bad(const std::string& plugin) { return TENON_BINARY_DIR "/tests/bad_plugins/" + plugin + ".so"; }
std::string bundled(const std::string& plugin) { return TENON_BINARY_DIR "/plugins/" + plugin + ".so"; }

// Runs `host validate` with these arguments after the file.
Answer validate_by_host(const std::string& file, const std::vector<std::string>& arguments = {}) {
  const Outcome outcome = run_host(joined({"validate", file, "--json"}, arguments));
  Answer answer{outcome.exit_code, {}, {}, {}, outcome.output + outcome.errors};
  const auto all = nlohmann::json::parse(outcome.output, nullptr, /*allow_exceptions=*/false);
  if (!all.is_object()) return answer;
  for (const auto& check : all["checks"]) {
    const std::string name = check["component"].get<std::string>() + " " + check["check"].get<std::string>();
    answer.statuses[name] = check["result"];
    answer.reasons[name] = check["reason"];
    answer.outputs[name] = check["output"];
  }
  return answer;
}

}  // namespace

TEST_CASE("the table shows what failed, why, and how to repeat only that check") {
  const std::string file = bad("model/forward_crashes");
  const Outcome outcome = run_host({"validate", file, "--seed", "7"});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 3);
  CHECK(outcome.output.find(file + ", seed 7") == 0);
  CHECK(contains(outcome.output, "forward                FAIL\n      crashed with SIGSEGV"));
  CHECK(contains(outcome.output, "repeat: host validate " + file + " --check forward --component model.bad --seed 7"));
  CHECK(contains(outcome.output, "needs forward"));
}

TEST_CASE("--brief prints only failures, warnings and the summary") {
  const Outcome bad_model = run_host({"validate", bad("model/forward_crashes"), "--brief"});
  CHECK(bad_model.exit_code == 3);
  CHECK(contains(bad_model.output, "FAIL\n      crashed with SIGSEGV"));
  CHECK_FALSE(contains(bad_model.output, " pass\n"));
  CHECK_FALSE(contains(bad_model.output, "  skipped\n"));
  CHECK(contains(bad_model.output, " checks: "));
}

TEST_CASE("one check of one component runs without the checks that it needs") {
  const Answer answer =
      validate_by_host(bad("dataset/get_counts"), {"--check", "repeats", "--component", "dataset.bad", "--seed", "7"});
  CAPTURE(answer.text);
  CHECK(answer.exit_code == 3);
  CHECK(answer.statuses == std::map<std::string, std::string>{{"dataset.bad repeats", "fail"}});
}

TEST_CASE("the output of a plugin before it fails is reported") {
  const Answer answer = validate_by_host(bad("model/forward_crashes"), {"--check", "forward"});
  CHECK(contains(answer.outputs.at("model.bad forward"), "the process crashed with SIGSEGV"));
}

TEST_CASE("a component with missing parameters is skipped until --params sets them") {
  const Answer answer = validate_by_host(bundled("image_folder"), {"--component", "dataset.image_folder"});
  CAPTURE(answer.text);
  CHECK(answer.exit_code == 2);
  CHECK(answer.with("skipped").size() == answer.statuses.size());
  CHECK(contains(answer.reasons.at("dataset.image_folder create"), "params.path is missing"));
}

TEST_CASE("the component is created with the parameters from --params") {
  const Answer answer =
      validate_by_host(bundled("mlp"), {"--check", "odd-params", "--params", "model.mlp={ inputs = 12 }"});
  CAPTURE(answer.text);
  CHECK(answer.exit_code == 0);
}

TEST_CASE("a file that is not a plugin fails the first check") {
  const std::string file = tenon::end_to_end::write_file(tenon::test_folder() / "text.so", "no library").string();
  const Answer answer = validate_by_host(file);
  CAPTURE(answer.text);
  CHECK(answer.exit_code == 3);
  CHECK(answer.with("fail") == std::vector<std::string>{"plugin library"});
}

TEST_CASE("errors on the command line of validate end with code 2 and a suggestion") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    check_errors(run_host(arguments), 2, {message});
  };
  const std::string file = bundled("mlp");
  refused({"validate"}, "validate has no file; expected host validate FILE");
  refused({"validate", file, "--check", "forwards"}, "there is no check forwards; did you mean \"forward\"?");
  refused({"validate", file, "--component", "model.mpl"}, "--component names model.mpl, which is not in");
  refused({"validate", file, "--check", "get"}, "has no check get");
  refused({"validate", file, "--params", "model.mlp"}, "--params model.mlp has no table");
  refused({"validate", file, "--params", "model.mlp={ hiden = [1] }"}, "params.hiden is not a parameter of mlp");
  refused({"validate", file, "--params", "model.mlp=[1]"}, "is not a TOML table");
  refused({"validate", file, "--timeout", "0"}, "--timeout is 0");
  // A plugin without any completed check must not look like a plugin that passed.
  refused({"validate", bundled("table")},
          "no check of dataset.table was run, because parameters without a default are missing; expected --params "
          "'dataset.table={ path = ..., target = ..., task = ... }', with their values");
}

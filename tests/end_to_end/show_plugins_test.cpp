#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <sstream>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;

namespace {

const std::string kFixtures = TENON_BINARY_DIR "/tests/fixtures/plugins/";

}  // namespace

TEST_CASE("host plugins lists what is found, with the components of each") {
  const Outcome text = run_host({"plugins"});
  CHECK(text.exit_code == 0);
  CHECK(text.output.find("small_cnn 0.1.0  native  ") != std::string::npos);
  CHECK(text.output.find("\n  dataset  digits ") != std::string::npos);
  CHECK(text.output.find(" plugins, 0 refused (searched ") != std::string::npos);

  const auto all = nlohmann::json::parse(run_host({"plugins", "--json"}).output);
  CHECK(all["refused"].empty());
  bool has_digits = false;
  for (const auto& plugin : all["plugins"])
    has_digits = has_digits || (plugin["id"] == "digits" && plugin["components"][0]["kind"] == "dataset" &&
                                plugin["sha256"].get<std::string>().size() == 64);
  CHECK(has_digits);
}

TEST_CASE("host plugins says why a file is refused, and still lists the others") {
  for (const char* fixture : {"short_table", "wrong_version", "duplicate_digits"}) {
    CAPTURE(fixture);
    const Outcome outcome = run_host({"plugins", "--plugin-dir", kFixtures + fixture, "--json"});
    CHECK(outcome.exit_code == 3);
    const auto all = nlohmann::json::parse(outcome.output);
    REQUIRE(all["refused"].size() == 1);
    CHECK(all["refused"][0]["reason"].get<std::string>().find(all["refused"][0]["file"].get<std::string>()) !=
          std::string::npos);
    CHECK(all["plugins"].size() >= 6);
  }
}

TEST_CASE("host describe gives parameters, inputs and outputs") {
  const Outcome model = run_host({"describe", "small_cnn"});
  CHECK(model.exit_code == 0);
  CHECK(model.output.find("  width = 32  an integer, in [1, inf)\n      channels of the first convolutions") !=
        std::string::npos);
  CHECK(model.output.find("\ninputs\n  image: float16/bfloat16/float32/float64 [N, 1, H, W]") != std::string::npos);
  const Outcome dataset = run_host({"describe", "image_folder"});
  CHECK(dataset.exit_code == 0);
  CHECK(dataset.output.find("  path (required)  a path") != std::string::npos);
  CHECK(dataset.output.find("the rest is known once these have a value: path") != std::string::npos);
  const auto metric = nlohmann::json::parse(run_host({"describe", "accuracy", "--json"}).output);
  REQUIRE(metric.size() == 1);
  CHECK(metric[0]["figures"][0] == "accuracy (higher is better)");
  CHECK(metric[0]["parameters"][0]["default"] == "-100");
}

TEST_CASE("host describe survives a component that cannot be created") {
  const Outcome outcome = run_host({"describe", "fixture", "--plugin-dir", kFixtures + "throwing_create"});
  CHECK(outcome.exit_code == 0);
  CHECK(outcome.output.find("let escape an exception: escaped from create") != std::string::npos);
}

TEST_CASE("mistakes with plugins and describe end with code 2 and a way out") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    const Outcome outcome = run_host(arguments);
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 2);
    CHECK(outcome.errors.find(message) != std::string::npos);
  };
  refused({"describe"}, "describe has no id; write host describe ID");
  refused({"describe", "--json"}, "describe has no id");
  refused({"describe", "accurcy"}, "there is no component \"accurcy\"; did you mean \"accuracy\"?");
  refused({"describe", "accuracy", "--json", "--markdown"}, "choose one");
  refused({"plugins", "--markdown"}, "host plugins has --json");
  refused({"plugins", "--config", "run.toml"}, "unknown option --config");
  refused({"plugins", "digits"}, "the argument \"digits\" stands alone");
}

TEST_CASE("docs/components.md is what host describe prints of the bundled components") {
  std::string expected = read_file(TENON_SOURCE_DIR "/docs/components.md");
  expected.erase(0, expected.find("## "));
  std::string printed;
  for (const char* id : {"small_cnn", "mlp", "digits", "image_folder", "cross_entropy", "accuracy", "early_stopping"}) {
    const Outcome outcome = run_host({"describe", id, "--markdown"});
    REQUIRE(outcome.exit_code == 0);
    printed += (printed.empty() ? "" : "\n") + outcome.output;
  }
  CHECK(printed == expected);
}

#include <doctest/doctest.h>

#include <cstdlib>
#include <iterator>
#include <nlohmann/json.hpp>

#include "tests/end_to_end/hosted_run.h"

using namespace tenon::end_to_end;

namespace {

const std::string kFixtures = TENON_BINARY_DIR "/tests/fixtures/plugins/";

}  // namespace

TEST_CASE("host plugins lists the plugins found with their components") {
  const Outcome text = require_success(run_host({"plugins"}));
  for (const char* part : {"small_cnn 0.1.0  native  ", "\n  dataset   digits ", " plugins, 0 refused (searched "})
    CHECK_MESSAGE(text.output.find(part) != std::string::npos, part);

  const auto all = nlohmann::json::parse(run_host({"plugins", "--json"}).output);
  CHECK(all["refused"].empty());
  bool has_digits = false;
  for (const auto& plugin : all["plugins"])
    has_digits = has_digits || (plugin["id"] == "digits" && plugin["components"][0]["kind"] == "dataset" &&
                                plugin["sha256"].get<std::string>().size() == 64);
  CHECK(has_digits);
}

TEST_CASE("host plugins reports why a file is refused and still lists the others") {
  const std::pair<const char*, std::vector<std::string>> refused[] = {{"missing_entry", {}},
                                                                      {"duplicate_digits", {}},
                                                                      {"duplicate_digits", {"--load"}},
                                                                      {"short_table", {"--load"}},
                                                                      {"wrong_version", {"--load"}}};
  for (const auto& [name, more] : refused) {
    const char* const fixture = name;
    CAPTURE(fixture);
    const Outcome outcome = run_host(joined({"plugins", "--plugin-dir", kFixtures + fixture, "--json"}, more));
    CHECK(outcome.exit_code == 3);
    const auto all = nlohmann::json::parse(outcome.output);
    REQUIRE(all["refused"].size() == 1);
    CHECK(all["refused"][0]["reason"].get<std::string>().find(all["refused"][0]["file"].get<std::string>()) !=
          std::string::npos);
    CHECK(all["plugins"].size() >= 6);
  }
}

TEST_CASE("host plugins and host describe read notes and run plugin code only on request") {
  const std::filesystem::path traces = make_empty_folder("traces") / "traces.txt";
  const auto run_monitored = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.end(), {"--plugin-dir", kFixtures + "leaves_traces"});
    std::filesystem::remove(traces);
    const Outcome outcome = require_success(run_host(arguments, "TENON_TEST_TRACES='" + traces.string() + "'"));
    return outcome;
  };
  const Outcome listed = run_monitored({"plugins"});
  CHECK(listed.output.find("\n  dataset   leaves_traces    records when its code runs\n") != std::string::npos);
  CHECK(!std::filesystem::exists(traces));
  const Outcome described = run_monitored({"describe", "leaves_traces"});
  CHECK(described.output.find("  samples = 10  an integer, in [1, inf)\n      number of samples\n") !=
        std::string::npos);
  CHECK(described.output.find("host describe leaves_traces --ports (runs code of the plugin)") != std::string::npos);
  CHECK(!std::filesystem::exists(traces));
  run_monitored({"describe", "digits", "--ports"});  // runs only that plugin
  CHECK(!std::filesystem::exists(traces));

  CHECK(run_monitored({"plugins", "--load"}).output == listed.output);
  CHECK(read_file(traces) == "loaded\nopened\n");
  run_monitored({"describe", "leaves_traces", "--ports"});
  CHECK(read_file(traces) == "loaded\nopened\n");
}

TEST_CASE("a file without a note is listed with a suggestion, and host note writes one") {
  const std::filesystem::path folder = make_empty_folder("unnoted");
  const std::filesystem::path file = folder / "leaves_traces.so";
  std::filesystem::copy_file(kFixtures + "leaves_traces/leaves_traces.so", file);
  const std::string noted = read_file(file);
  const std::string remove = "objcopy --remove-section .note.tenon '" + file.string() + "'";
  REQUIRE(std::system(remove.c_str()) == 0);

  const Outcome without = require_success(run_host({"plugins", "--plugin-dir", folder.string()}));
  CHECK(without.output.find("no note: " + file.string() + ": run `host note " + file.string() +
                            "` or `host plugins --load`") != std::string::npos);
  CHECK(without.output.find(" plugins, 1 without a note, 0 refused (") != std::string::npos);
  check_errors(run_host({"describe", "leaves_traces", "--plugin-dir", folder.string()}), 2,
               {".so has no note: run `host note "});
  CHECK(run_host({"describe", "leaves_traces", "--load", "--plugin-dir", folder.string()}).exit_code == 0);

  CHECK(run_host({"note", file.string()}).exit_code == 0);
  CHECK(run_host({"describe", "leaves_traces", "--plugin-dir", folder.string()}).exit_code == 0);
  const std::string once = read_file(file);
  CHECK(run_host({"note", file.string()}).exit_code == 0);
  CHECK(read_file(file) == once);
  CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
}

TEST_CASE("host note does not change a file if it cannot write the note") {
  const std::filesystem::path folder = make_empty_folder("refused_note");
  const std::filesystem::path file = folder / "plugin.so";
  const auto refused = [&](const std::string& fixture, const std::vector<std::string>& more,
                           const std::string& message) {
    std::filesystem::copy_file(kFixtures + fixture + "/" + fixture + ".so", file,
                               std::filesystem::copy_options::overwrite_existing);
    const std::string before = read_file(file);
    check_errors(run_host(joined({"note", file.string()}, more)), 3, {file.string() + ": " + message});
    CHECK(read_file(file) == before);
    CHECK(std::distance(std::filesystem::directory_iterator(folder), {}) == 1);
  };
  refused("short_table", {}, "the table of dataset \"fixture\" is ");
  refused("missing_entry", {}, "has no symbol tenon_plugin_open");
  refused("counting", {"--objcopy", "no-such-program"},
          "cannot write the note: no-such-program cannot be run: No such file or directory; expected the "
          "objcopy of binutils");
  refused("counting", {"--objcopy", "false"}, "cannot write the note: false failed; expected it to add");
  refused("counting", {"--objcopy", "true"}, "cannot write the note: true wrote no file with the note");
}

TEST_CASE("a run refuses a plugin that contradicts its note") {
  std::vector<std::string> arguments{"--config", TENON_SOURCE_DIR "/configs/digits.toml", "--check", "--plugin-dir",
                                     kFixtures + "two_faced"};
  CHECK(run_host(arguments, "TENON_TEST_TWO_FACED=1").exit_code == 0);  // does not use that plugin
  arguments.insert(arguments.end(), {"--set", "data.train={use=\"two_faced\"}"});
  check_errors(run_host(arguments, "TENON_TEST_TWO_FACED=1"), 3,
               {"two_faced.so: its note does not match it: components.two_faced.parameters.samples."
                "default: the note says \"10\", the plugin says \"20\"; expected the same"});
}

TEST_CASE("host describe shows parameters, and with --ports inputs and outputs") {
  const Outcome model = require_success(run_host({"describe", "small_cnn", "--ports"}));
  CHECK(model.output.find("  width = 32  an integer, in [1, 1e9]\n      channels of the first two convolutions") !=
        std::string::npos);
  CHECK(model.output.find("\ninputs\n  image: float16/bfloat16/float32/float64 [N, 1, H, W]") != std::string::npos);
  const Outcome dataset = require_success(run_host({"describe", "image_folder", "--ports"}));
  CHECK(dataset.output.find("  path (required)  a path") != std::string::npos);
  CHECK(dataset.output.find("the rest is known only with values for: path") != std::string::npos);
  const auto metric = nlohmann::json::parse(run_host({"describe", "accuracy", "--ports", "--json"}).output);
  REQUIRE(metric.size() == 1);
  CHECK(metric[0]["values"][0] == "accuracy (higher is better)");
  CHECK(metric[0]["parameters"][0]["default"] == "-100");
}

TEST_CASE("host describe creates a component with the parameters of --set") {
  const Outcome table = require_success(run_host({"describe", "synthetic", "--ports", "--set", "height=5"}));
  CHECK(table.output.find("image: float32 [3, 5, 224]") != std::string::npos);
  const Outcome example = run_host({"describe", "mlp", "--markdown", "--set", "hidden=[8, 4]"});
  CHECK(example.output.find("[model]\nuse = \"mlp\"\nparams = { hidden = [8, 4] }\n") != std::string::npos);
  const auto required = nlohmann::json::parse(run_host({"describe", "image_folder", "--json"}).output);
  CHECK(required[0]["example"] == "[data.train]\nuse = \"image_folder\"\nparams = { path = \"...\" }\n");
  check_errors(run_host({"describe", "synthetic", "--set", "hight=5"}), 2,
               {"params.hight is not a parameter of synthetic; did you mean \"height\"?"});
  CHECK(run_host({"describe", "synthetic", "--set", "height=0"}).exit_code == 2);
}

TEST_CASE("host describe survives a component that cannot be created") {
  const Outcome outcome =
      require_success(run_host({"describe", "fixture", "--ports", "--plugin-dir", kFixtures + "throwing_create"}));
  CHECK(outcome.output.find("threw an exception: escaped from create") != std::string::npos);
}

TEST_CASE("wrong arguments of plugins and describe end with code 2 and a suggestion") {
  const auto refused = [](const std::vector<std::string>& arguments, const std::string& message) {
    check_errors(run_host(arguments), 2, {message});
  };
  refused({"describe"}, "describe has no id; expected host describe ID");
  refused({"describe", "--json"}, "describe has no id");
  refused({"describe", "accurcy"}, "there is no component \"accurcy\"; did you mean \"accuracy\"?");
  refused({"describe", "accuracy", "--json", "--markdown"}, "choose one");
  refused({"plugins", "--markdown"}, "unknown option --markdown");
  refused({"plugins", "--ports"}, "unknown option --ports");
  refused({"note"}, "note has no file; expected host note FILE");
  refused({"note", "--objcopy", "objcopy"}, "note has no file");
  refused({"note", "a.so", "b.so"}, "unexpected argument \"b.so\"");
  refused({"plugins", "--config", "run.toml"}, "unknown option --config");
  refused({"plugins", "digits"}, "unexpected argument \"digits\"");
}

TEST_CASE("host describe omits ports from JSON unless they are requested") {
  const auto loss = nlohmann::json::parse(run_host({"describe", "cross_entropy", "--json"}).output);
  REQUIRE(loss.size() == 1);
  CHECK(loss[0]["plugin"]["license"] == "Apache-2.0");
  CHECK(!loss[0].contains("inputs"));
}

// Tests a transform of a plugin (examples/tutorial/shift.cpp) in the transforms of a bundled dataset.
#include <doctest/doctest.h>

#include <nlohmann/json.hpp>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

namespace plugin_transforms_test {

using namespace tenon::end_to_end;
namespace fs = std::filesystem;

namespace {

const fs::path kPlugins = fs::path(TENON_BINARY_DIR) / "tests/fixtures/plugins/shift";

// The arguments of a run on drawn images with these transforms, in an empty folder.
std::vector<std::string> run_with(const std::string& transforms, const std::vector<std::string>& more = {}) {
  const fs::path folder = make_empty_folder("run");
  for (int i = 0; i < 24; ++i) {
    cv::Mat image(20, 24, CV_8UC3, cv::Scalar(9 * i, 90, 7));
    image(cv::Rect(i % 8, 5, 6, 9)).setTo(cv::Scalar(200, 255 - 8 * i, i % 2 ? 20 : 230));
    fs::create_directories(folder / "photos" / (i % 2 ? "a" : "b"));
    REQUIRE(cv::imwrite((folder / "photos" / (i % 2 ? "a" : "b") / (std::to_string(i) + ".png")).string(), image));
  }
  const fs::path file = write_file(folder / "run.toml", R"toml([run]
name = "shifted"
threads = 1
seed = 3
[model]
use = "small_cnn"
params = { channels = 3, classes = 2 }
[data]
batch_size = 8
[data.train]
use = "image_folder"
params = { path = "photos", transforms = )toml" + transforms +
                                                            R"toml( }
[data.validation]
like = "train"
params = { transforms = ["normalize()"] }
[[loss]]
use = "cross_entropy"
[train]
epochs = 3
[checkpoint]
every = "1 epoch"
[optimizer]
use = "sgd"
lr = 0.1
)toml");
  return joined({"--config", file.string(), "--plugin-dir", kPlugins.string(), "--set",
                 "run.output_dir=" + (folder / "runs").string()},
                more);
}

fs::path find_run() { return find_run_folder(tenon::test_folder() / "run/runs", "shifted"); }

std::string history_of(const std::string& transforms, const std::vector<std::string>& more) {
  require_success(run_host(run_with(transforms, more)));
  return read_history_without_times(find_run());
}

}  // namespace

TEST_CASE("a run uses the transform of a plugin, with the same samples for any number of workers and after a resume") {
  const std::string transforms = R"t(["horizontal_flip()", "shift(0.3, p=0.8)", "normalize()"])t";
  const std::string history = history_of(transforms, {"--set", "data.workers=0"});
  CHECK(history == history_of(transforms, {"--set", "data.workers=1"}));
  CHECK(history == history_of(transforms, {"--set", "data.workers=5"}));
  CHECK(history != history_of(R"t(["horizontal_flip()", "normalize()"])t", {}));
  CHECK(history == history_of(R"t(["horizontal_flip()", "shift(distance=0.3, p=0.8)", "normalize()"])t", {}));
  std::vector<std::string> verify = run_with(transforms);
  verify.insert(verify.begin(), "verify-resume");
  const Outcome verified = run_host(verify);
  CAPTURE(verified.output);
  CAPTURE(verified.errors);
  CHECK(verified.exit_code == 0);
}

TEST_CASE("the run records the plugin of a transform, and opens no other one for it") {
  const std::string transforms = R"t(["shift", "normalize()"])t";
  require_success(run_host(run_with(transforms)));
  const fs::path folder = find_run();
  CHECK(read_file(folder / "run.json").find("shift.so") != std::string::npos);
  require_success(run_host(run_with(R"t(["normalize()"])t")));
  CHECK(read_file(find_run() / "run.json").find("shift.so") == std::string::npos);
}

TEST_CASE("wrong arguments of a plugin's transform end --check with the entry and the expected values") {
  const auto refused = [](const std::string& entry, const std::string& text) {
    check_errors(run_host(run_with("[\"" + entry + "\", \"normalize()\"]", {"--check"})), 3,
                 {"entry 1 of parameter \"transforms\", \"" + entry + "\": " + text});
  };
  refused("shift(2)", "distance is 2; expected a number in [0, 1]");
  refused("shift(wide)", "distance is wide; expected a number in [0, 1]");
  refused("shift((0.1, 0.2))", "distance is (0.1, 0.2); expected a number in [0, 1]");
  refused("shift(.5)", "distance is .5; expected a number in [0, 1], as TOML writes it");
  refused("shift(0.1, 0.2, 0.3)", "argument 3 is 0.3; expected 2 at most");
  refused("shift(distanse=0.1)", "there is no argument \"distanse\"; did you mean \"distance\"?");
  refused("shift(distance=0.1, 0.5)", "found 0.5 without a name after a named argument; expected a name, as in p=0.5");
  refused("shift(p=1.5)", "p is 1.5; expected a number in [0, 1]");
  refused("shift(0.1, distance=0.2)", "distance is given twice");
  refused("shifd(0.1)", "there is no transform \"shifd\"; did you mean \"shift\"?");
}

TEST_CASE("host describe lists the transforms of the host and of plugins, and the arguments of each") {
  const auto describe = [](const std::string& id, const std::vector<std::string>& more = {}) {
    return require_success(run_host(joined({"describe", id, "--plugin-dir", kPlugins.string()}, more))).output;
  };
  const std::string all = describe("transforms");
  for (const char* part : {"random_resized_crop", "mosaic", "moves an image by a random distance (plugin shift)"})
    CHECK(all.find(part) != std::string::npos);
  const auto list = nlohmann::json::parse(describe("transforms", {"--json"}));
  CHECK(list.size() > 20);
  CHECK(list.back()["id"] == "shift");
  CHECK(list.back()["plugin"] == "shift");
  const std::string bundled = describe("letterbox");
  for (const char* part : {"transform letterbox: ", "source: ", "size (required)  1 or 2 whole numbers"})
    CHECK(bundled.find(part) != std::string::npos);
  const std::string of_plugin = describe("shift");
  for (const char* part : {"transform shift: moves an image", "distance = 0.1  a number, in [0, 1]",
                           "an argument p is the probability of being applied"})
    CHECK(of_plugin.find(part) != std::string::npos);
  check_errors(run_host({"describe", "leterbox"}), 2,
               {"there is no component \"leterbox\"", "host describe transforms"});
}

TEST_CASE("host validate applies a transform to images with all its targets") {
  const Outcome outcome = run_host({"validate", (kPlugins / "shift.so").string()});
  CAPTURE(outcome.output);
  CHECK(outcome.exit_code == 0);
  for (const char* check : {"apply", "repeats", "threads"}) CHECK(outcome.output.find(check) != std::string::npos);
}

}  // namespace plugin_transforms_test

#include <doctest/doctest.h>

#include <filesystem>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/bad_plugins/validated.h"
#include "tests/end_to_end/hosted_run.h"

namespace fs = std::filesystem;
using namespace tenon::bad_plugins;

namespace {

const fs::path kPlugins = TENON_BINARY_DIR "/plugins";

// Two classes of flat images.
fs::path make_images() {
  const fs::path folder = tenon::end_to_end::make_empty_folder("images");
  for (const char* name : {"bright", "dark"}) {
    fs::create_directories(folder / name);
    for (int i = 0; i < 4; ++i) {
      const cv::Mat image(20 + i, 24, CV_8UC3, cv::Scalar::all(name[0] == 'b' ? 200 : 30 + i));
      REQUIRE(cv::imwrite((folder / name / (std::to_string(i) + ".png")).string(), image));
    }
  }
  return folder;
}

std::vector<std::string> params_of(const std::string& plugin) {
  if (plugin != "image_folder") return {};
  return {"--params", "dataset.image_folder={ path = \"" + make_images().string() + "\" }"};
}

}  // namespace

TEST_CASE("every bundled plugin passes") {
  size_t looked_at = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(kPlugins)) {
    if (entry.path().extension() != ".so") continue;
    const Answer answer = validate(entry.path().string(), params_of(entry.path().stem().string()));
    CAPTURE(entry.path().string());
    CAPTURE(answer.text);
    CHECK(answer.exit_code == 0);
    CHECK(answer.with("fail").empty());
    CHECK(answer.with("pass").size() >= 8);
    ++looked_at;
  }
  CHECK(looked_at >= 7);
}

TEST_CASE("what a bundled plugin has is looked at, and not skipped") {
  const auto verdict = [](const std::string& plugin, const std::string& check) {
    const size_t blank = check.find(' ');
    std::vector<std::string> options = params_of(plugin);
    options.insert(options.end(), {"--component", check.substr(0, blank), "--check", check.substr(blank + 1)});
    const Answer answer = validate((kPlugins / (plugin + ".so")).string(), options);
    CAPTURE(answer.text);
    REQUIRE(answer.verdicts.contains(check));
    CHECK(answer.verdicts.at(check) == "pass");
  };
  verdict("mlp", "model.mlp difference-quotients");
  verdict("mlp", "model.mlp frame-tensors");
  verdict("mlp", "model.mlp autocast");
  verdict("small_cnn", "model.small_cnn gradients");
  verdict("cross_entropy", "loss.cross_entropy difference-quotients");
  verdict("accuracy", "metric.accuracy adds-up");
  verdict("digits", "dataset.digits threads");
  verdict("early_stopping", "callback.early_stopping events");
  verdict("image_folder", "dataset.image_folder threads");
}

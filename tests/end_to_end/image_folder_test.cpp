#include <doctest/doctest.h>

#include <fstream>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/hosted_run.h"

namespace image_folder_test {

namespace fs = std::filesystem;
using namespace tenon::end_to_end;

namespace {

// Creates PNG and JPEG files of several sizes with three classes of solid colours.
fs::path make_images(const std::string& name, int per_class) {
  const fs::path folder = make_empty_folder(name) / "images";
  const cv::Scalar colours[] = {{200, 40, 40}, {40, 200, 40}, {40, 40, 200}};
  const char* classes[] = {"blue", "green", "red"};
  cv::RNG random(7);
  for (int c = 0; c < 3; ++c) {
    fs::create_directories(folder / classes[c]);
    for (int i = 0; i < per_class; ++i) {
      cv::Mat image(40 + i, 60, CV_8UC3, colours[c]);
      cv::Mat noise(image.size(), CV_8UC3);
      random.fill(noise, cv::RNG::UNIFORM, 0, 40);
      image += noise;
      cv::imwrite((folder / classes[c] / (std::to_string(i) + (i % 2 ? ".png" : ".jpg"))).string(), image);
    }
  }
  return folder;
}

// Trains configs/image_folder.toml with those images.
Outcome train(const fs::path& images, const std::vector<std::string>& more = {}) {
  std::vector<std::string> arguments{"--config", TENON_SOURCE_DIR "/configs/image_folder.toml"};
  const std::string path = ".params.path=\"" + images.string() + "\"";
  for (const std::string& word :
       {"data.train" + path, "data.validation" + path, std::string("data.validation.params.validation_fraction=0.3"),
        std::string("data.train.params.validation_fraction=0.3"), std::string("data.batch_size=8"),
        std::string("train.epochs=6"), "run.output_dir=\"" + (images.parent_path() / "runs").string() + "\""})
    arguments.insert(arguments.end(), {"--set", word});
  arguments.insert(arguments.end(), more.begin(), more.end());
  return run_host(arguments);
}

}  // namespace

TEST_CASE("image_folder trains on PNG and JPEG files given by path") {
  const fs::path images = make_images("colours", 20);
  require_success(train(images));
  CHECK(read_last_metric(find_run_folder(images.parent_path() / "runs", "image_folder"), "validation/accuracy") > 0.9);
}

TEST_CASE("a run has the classes and channels of its images, and its weights keep them") {
  const fs::path images = make_images("sizes", 12);
  const fs::path runs = images.parent_path() / "runs";
  require_success(train(images));
  const fs::path run = find_run_folder(runs, "image_folder");
  CHECK(read_file(run / "plan.toml").find("params = { channels = 3, classes = 3, ") != std::string::npos);
  CHECK(read_file(run / "log.txt").find("from the data: model.params.channels = 3, model.params.classes = 3") !=
        std::string::npos);

  // A folder without one of the classes does not change the model of the weights.
  fs::remove_all(images / "green");
  const std::string path = ".params.path=\"" + images.string() + "\"";
  const std::vector<std::string> settings{"--config", TENON_SOURCE_DIR "/configs/image_folder.toml",
                                          "--set",    "data.train" + path,
                                          "--set",    "data.validation" + path,
                                          "--set",    "data.validation.params.split=\"all\"",
                                          "--set",    "run.output_dir=\"" + runs.string() + "\""};
  const auto command = [&](const std::string& name, const std::vector<std::string>& more) {
    return run_host(joined(joined({name}, settings), more));
  };
  const Outcome evaluated = require_success(command("evaluate", {}));
  CHECK(evaluated.output.find("accuracy") != std::string::npos);
  const fs::path exported = images.parent_path() / "exported.safetensors";
  require_success(command("export", {"--output", exported.string()}));
  CHECK(read_file(exported).find(R"(\"classes\":3)") != std::string::npos);
  require_success(command("evaluate", {"--checkpoint", exported.string()}));
}

TEST_CASE("a resumed run has the sizes of its checkpoint") {
  const fs::path images = make_images("resumed_sizes", 12);
  require_success(train(images, {"--set", "train.epochs=2"}));
  const fs::path run = find_run_folder(images.parent_path() / "runs", "image_folder");
  // One class less: the data would have other sizes.
  fs::remove_all(images / "red");
  const Outcome resumed = require_success(train(images, {"--resume", run.string()}));
  CHECK(resumed.errors.find("model.params") == std::string::npos);  // no difference is reported
  for (const auto& each : fs::directory_iterator(run.parent_path()))
    if (fs::exists(each.path() / "plan.toml"))
      CHECK(read_file(each.path() / "plan.toml").find("classes = 3") != std::string::npos);
}

TEST_CASE("a corrupt image is reported by path, with the data exit code") {
  const fs::path images = make_images("corrupt", 12);
  const fs::path broken = images / "green" / "4.jpg";
  const std::string whole = read_file(broken);
  std::ofstream(broken, std::ios::binary) << whole.substr(0, whole.size() / 2);
  check_errors(train(images), 4, {broken.string(), "sample "});
}

TEST_CASE("the plan shows the transforms of a preset") {
  const fs::path images = make_images("preset", 12);
  const Outcome outcome =
      require_success(train(images, {"--check", "--set", "data.train.params.transforms=\"imagenet_train\""}));
  CHECK(outcome.output.find("transforms = [\"random_resized_crop(224)\", \"horizontal_flip()\", \"normalize()\"]") !=
        std::string::npos);
}

TEST_CASE("a missing folder is reported before training") {
  const fs::path images = make_empty_folder("absent") / "nowhere";
  const Outcome outcome = train(images, {"--check"});
  CHECK(outcome.exit_code != 0);
  CHECK(outcome.errors.find(images.string()) != std::string::npos);
}

}  // namespace image_folder_test

// Runs with a dataset of a plugin that has the host transform images and boxes: the same samples for any number of
// workers and processes, and after a resume.
#include <doctest/doctest.h>

#include <cmath>
#include <set>
#include <sstream>

#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/test_folder.h"

namespace image_targets_test {

using namespace tenon;
using end_to_end::find_run_folder;
using end_to_end::joined;
using end_to_end::read_history_without_times;
using end_to_end::run_host;
namespace fs = std::filesystem;

namespace {

std::string write_run() {
  const fs::path folder = test_folder();
  fs::create_directory(folder / "photos");
  for (int number = 0; number < 48; ++number) {
    cv::Mat image(24 + number % 5, 32 + number % 3, CV_8UC3);
    cv::RNG(static_cast<uint64_t>(number + 1)).fill(image, cv::RNG::UNIFORM, 0, 256);
    REQUIRE(cv::imwrite((folder / "photos" / (std::to_string(number) + ".png")).string(), image));
  }
  return end_to_end::write_file(folder / "run.toml", R"toml(
[model]
use = "small_cnn"
params = { channels = 3, classes = 9, stages = 2 }
[data]
batch_size = 8
[data.train]
use = "boxed_photos"
[data.train.params]
path = "photos"
samples = 48
transforms = ["mosaic(24, p=0.5)", "random_zoom_out(side_range=(1, 2))", "random_iou_crop", "random_perspective(0.3)", "horizontal_flip()",
              "shift(0.2, p=0.7)", "coarse_dropout()", "resize((16, 16))", "gaussian_noise(sigma=0.05)", "normalize()"]
[[loss]]
use = "cross_entropy"
[train]
epochs = 2
[log]
every = "1 step"
[optimizer]
use = "sgd"
lr = 1e-3
[run]
threads = 1
)toml")
      .string();
}

std::vector<std::string> arguments_of(const std::string& config, const std::string& output,
                                      const std::vector<std::string>& settings) {
  std::vector<std::string> arguments = {"--config",     config,
                                        "--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/boxed_photos",
                                        "--plugin-dir", TENON_BINARY_DIR "/tests/fixtures/plugins/shift"};
  arguments = joined(arguments, {"--set", "run.output_dir=\"" + (test_folder() / output).string() + "\""});
  for (const std::string& setting : settings) arguments = joined(arguments, {"--set", setting});
  return arguments;
}

std::string train(const std::string& config, const std::string& output, const std::vector<std::string>& settings,
                  const std::vector<std::string>& more = {}) {
  require_success(run_host(joined(arguments_of(config, output, settings), more)));
  return read_history_without_times(find_run_folder(test_folder() / output, "run"));
}

// The losses of the steps, in order.
std::vector<double> losses_of(const std::string& history) {
  std::vector<double> losses;
  const std::string name = "\"train/loss\":";
  for (size_t at = history.find(name); at != std::string::npos; at = history.find(name, at + 1))
    losses.push_back(std::stod(history.substr(at + name.size())));
  return losses;
}

// Trains, and returns the lines of all samples of the run: epoch, index and hash.
std::multiset<std::string> trace(const std::string& config, const std::string& name,
                                 const std::vector<std::string>& settings, const std::vector<std::string>& more = {}) {
  const fs::path file = test_folder() / (name + ".samples");
  train(config, name, joined(settings, {"data.train.params.trace=\"" + file.string() + "\""}), more);
  std::multiset<std::string> samples;
  for (const std::string& line : end_to_end::parts_of(end_to_end::read_file(file), '\n')) samples.insert(line);
  return samples;
}

}  // namespace

TEST_CASE("the samples of a run have the same bytes for any number of workers and processes") {
  const std::string config = write_run();
  const std::multiset<std::string> expected = trace(config, "one", {"data.workers=0"});
  REQUIRE(expected.size() == 96);
  CHECK(trace(config, "eight_workers", {"data.workers=8"}) == expected);
  CHECK(trace(config, "two", {"data.batch_size=4"}, {"--processes", "2"}) == expected);
  CHECK(trace(config, "three", {"data.batch_size=4", "data.workers=3"}, {"--processes", "3"}) == expected);
}

TEST_CASE("images and boxes are the same for any number of workers and processes, and after a resume") {
  const std::string config = write_run();
  const std::string expected = train(config, "inline", {"data.workers=0"});
  const std::vector<double> losses = losses_of(expected);
  REQUIRE(losses.size() >= 10);
  for (const int workers : {1, 2, 5, 8}) {
    CAPTURE(workers);
    const std::string number = std::to_string(workers);
    CHECK(train(config, "workers" + number, {"data.workers=" + number}) == expected);
  }
  for (const int processes : {2, 3}) {
    CAPTURE(processes);
    const std::string number = std::to_string(processes);
    const std::vector<double> alone =
        losses_of(train(config, "alone" + number, {"data.batch_size=" + std::to_string(4 * processes)}));
    const std::vector<double> divided =
        losses_of(train(config, "processes" + number, {"data.batch_size=4", "distributed.synchronize_batch_norm=true"},
                        {"--processes", number}));
    REQUIRE(divided.size() == alone.size());
    // Sums in another order. The learning rate is small, so that later steps do not amplify the difference.
    for (size_t i = 0; i < alone.size(); ++i) CHECK(std::abs(divided[i] - alone[i]) < 1e-5 * alone[i]);
  }
  std::vector<std::string> arguments = arguments_of(config, "resumed", {});
  arguments.insert(arguments.begin(), "verify-resume");
  require_success(run_host(arguments));
}

}  // namespace image_targets_test

// Tests what a run says about images and masks before its first step.
#include <doctest/doctest.h>

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

#include "tests/end_to_end/hosted_run.h"
#include "tests/messages.h"

namespace image_warnings_test {

namespace fs = std::filesystem;
using namespace tenon::end_to_end;
using tenon::count_parts;

namespace {

constexpr const char* kPadded = "differ in size and are padded to ";

// Images of two classes and of these sizes, with masks.
void write_images(const fs::path& folder, const std::vector<cv::Size>& sizes, int foreground) {
  for (const std::string kind : {"classes/a", "classes/b", "images", "masks"}) fs::create_directories(folder / kind);
  cv::RNG random(3);
  for (int i = 0; i < 8; ++i) {
    cv::Mat image(sizes[static_cast<size_t>(i) % sizes.size()], CV_8UC3);
    random.fill(image, cv::RNG::UNIFORM, 0, 255);
    cv::Mat mask(image.size(), CV_8UC1, cv::Scalar(0));
    mask.colRange(0, 4) = cv::Scalar(foreground);
    const std::string name = std::to_string(i) + ".png";
    cv::imwrite((folder / (i % 2 ? "classes/a" : "classes/b") / name).string(), image);
    cv::imwrite((folder / "images" / name).string(), image);
    cv::imwrite((folder / "masks" / name).string(), mask);
  }
}

Outcome train(const fs::path& folder, const std::string& model, const std::string& dataset,
              const std::vector<std::string>& more = {}) {
  const std::string file =
      write_file(folder / "run.toml", "[run]\nthreads = 1\noutput_dir = \"runs\"\n[model]\n" + model +
                                          "\n[data]\nbatch_size = 4\nworkers = 0\n[data.train]\n" + dataset +
                                          "\n[[loss]]\nuse = \"cross_entropy\"\n[train]\nsteps = 2\n"
                                          "[optimizer]\nuse = \"sgd\"\nlr = 1e-3\n")
          .string();
  return run_host(joined({"--config", file}, more));
}

std::string folder_of_classes(const std::string& transforms) {
  return "use = \"image_folder\"\nparams = { path = \"classes\", transforms = [" + transforms + "] }";
}

}  // namespace

TEST_CASE("a run warns once that padded images make results depend on the batch, unless each pixel has an output") {
  const fs::path mixed = make_empty_folder("mixed"), equal = make_empty_folder("equal");
  write_images(mixed, {{30, 20}, {20, 30}, {40, 20}}, 1);
  write_images(equal, {{24, 24}}, 1);
  const std::string cnn = "use = \"small_cnn\"\nparams = { stages = 1, width = 4 }";
  const auto warnings = [](const Outcome& outcome) {
    CAPTURE(outcome.errors);
    CHECK(outcome.exit_code == 0);
    return count_parts(outcome.errors, kPadded);
  };
  const Outcome warned = train(mixed, cnn, folder_of_classes("\"resize(16)\", \"normalize()\""));
  CHECK(warnings(warned) == 1);
  CHECK(warned.errors.find("train: the images in the field image of a batch differ in size") != std::string::npos);
  CHECK(warned.errors.find("depend on the batch size") != std::string::npos);
  CHECK(warned.errors.find("\"center_crop(N)\"") != std::string::npos);
  CHECK(warnings(train(mixed, cnn, folder_of_classes("\"normalize()\""))) == 1);
  CHECK(warnings(train(mixed, cnn, folder_of_classes("\"resize(16)\", \"center_crop(16)\", \"normalize()\""))) == 0);
  CHECK(warnings(train(mixed, cnn, folder_of_classes("\"resize((16, 16))\", \"normalize()\""))) == 0);
  CHECK(warnings(train(equal, cnn, folder_of_classes("\"normalize()\""))) == 0);
  CHECK(warnings(train(mixed, cnn, folder_of_classes("\"resize(16)\", \"normalize()\""),
                       {"--set", "data.batch_size=1"})) == 0);
  const Outcome both = train(mixed, cnn, folder_of_classes("\"resize(16)\", \"normalize()\""),
                             {"--set", "data.validation={like=\"train\"}"});
  CHECK(warnings(both) == 2);
  CHECK(both.errors.find("validation: the images in the field image") != std::string::npos);
  const std::string pairs =
      "use = \"segmentation\"\nparams = { path = \".\", classes = 2, transforms = [\"normalize()\"] }";
  CHECK(warnings(train(mixed, "use = \"unet\"\nparams = { classes = 2, depth = 1, width = 2 }", pairs,
                       {"--set", "loss.0.params.ignore_index=255"})) == 0);
}

TEST_CASE("black and white masks are refused by every command before a step, and trained with values") {
  const fs::path folder = make_empty_folder("black_and_white");
  write_images(folder, {{24, 24}}, 255);
  const std::string unet = "use = \"unet\"\nparams = { classes = 2, depth = 1, width = 2 }";
  const auto pairs = [](const std::string& more) {
    return "use = \"segmentation\"\nparams = { path = \".\", classes = 2, transforms = [\"normalize()\"]" + more + " }";
  };
  for (const std::vector<std::string>& more :
       std::vector<std::vector<std::string>>{{}, {"--check"}, {"--set", "loss.0.params.ignore_index=255"}}) {
    check_errors(train(folder, unet, pairs(""), more), 4, {"is 255 class 1? then set values = [0, 255]"});
  }
  const Outcome trained = require_success(train(folder, unet, pairs(", values = [0, 255]")));
  CHECK(trained.errors.find("warning") == std::string::npos);
}

namespace {

template <class T>
void write_npy(const fs::path& file, const std::string& dtype, const std::string& shape, const std::vector<T>& values) {
  std::string header = "{'descr': '" + dtype + "', 'fortran_order': False, 'shape': (" + shape + "), }";
  header.resize(117, ' ');
  write_file(file, std::string("\x93NUMPY\x01\x00\x76\x00", 10) + header + "\n" +
                       std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)));
}

}  // namespace

TEST_CASE("targets per pixel that hold two numbers are questioned, whatever dataset they are from") {
  const fs::path folder = make_empty_folder("arrays");
  std::vector<float> pixels(8 * 3 * 8 * 8);
  std::vector<int64_t> classes(8 * 8 * 8);
  for (size_t i = 0; i < pixels.size(); ++i) pixels[i] = static_cast<float>(i % 7);
  for (size_t i = 0; i < classes.size(); ++i) classes[i] = i % 3 == 0 ? 255 : 0;
  write_npy(folder / "data" / "x.npy", "<f4", "8, 3, 8, 8", pixels);
  write_npy(folder / "data" / "y.npy", "<i8", "8, 8, 8", classes);
  const std::string unet =
      "use = \"unet\"\nparams = { classes = 2, depth = 1, width = 2 }\ninputs = { image = \"data.x\" }";
  const std::string arrays = "use = \"arrays\"\nparams = { path = \"data\" }";
  const std::vector<std::string> connected = {"--set", "loss.0.inputs={target=\"data.y\"}"};
  check_errors(train(folder, unet, arrays, connected), 4,
               {"the batch holds only 0 and 255: if they stand for the 2 classes in this order, number "
                "them from 0 in the data"});
  const Outcome warned =
      require_success(train(folder, unet, arrays, joined(connected, {"--set", "loss.0.params.ignore_index=255"})));
  CHECK(count_parts(warned.errors, "train: data.y holds only 0 and 255 in the first batch") == 1);
  CHECK(count_parts(warned.errors, "is 255 a class?") == 1);
}

}  // namespace image_warnings_test

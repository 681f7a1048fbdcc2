// The finished plugin, as the host sees it.
#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "tests/datasets/opened_dataset.h"
#include "tests/datasets/written_images.h"

namespace {

const std::string kPlugin = TENON_BINARY_DIR "/plugins/image_folder.so";

ParamValues make_params(const std::filesystem::path& path, const ParamValues& changes = {}) {
  ParamValues params = {{"path", path.string()},
                        {"split", "all"},
                        {"validation_fraction", 0.3},
                        {"image_size", int64_t{8}},
                        {"resize", int64_t{8}},
                        {"crop", "center"},
                        {"flip", 0.0},
                        {"mean", std::vector<double>{0, 0, 0}},
                        {"std", std::vector<double>{1, 1, 1}}};
  for (const auto& [name, value] : changes) params[name] = value;
  return params;
}

// Two classes, an image each: a gradient of 64 x 32, and a green square.
std::filesystem::path make_two_classes() {
  const std::filesystem::path root = make_empty_folder("two_classes");
  write_file(root / "gradient" / "a.png", encode(".png", make_gradient(64, 32)));
  write_file(root / "green" / "a.png", encode(".png", cv::Mat(8, 8, CV_8UC3, cv::Scalar(0, 255, 0))));
  return root;
}

std::string refusal(const ParamValues& params) {
  return error_of<Refused>([&] { OpenedDataset(kPlugin, params); });
}

}  // namespace

TEST_CASE("image_folder gives normalised planes and the class") {
  const OpenedDataset images(kPlugin, make_params(make_two_classes(), {{"mean", std::vector<double>{0, 0.5, 0}},
                                                                       {"std", std::vector<double>{1, 0.25, 1}}}));
  CHECK(images.size() == 2);
  CHECK(images.describe_fields() == std::vector<std::string>{"image float32 3,8,8", "label int64"});
  CHECK(images.integer(0, "label") == 0);
  CHECK(images.integer(1, "label") == 1);
  const std::vector<float> green = images.floats(1, "image");
  CHECK(std::all_of(green.begin(), green.begin() + 64, [](float value) { return value == 0; }));
  CHECK(std::all_of(green.begin() + 64, green.begin() + 128, [](float value) { return value == 2; }));
  CHECK(std::all_of(green.begin() + 128, green.end(), [](float value) { return value == 0; }));
}

TEST_CASE("a larger image is averaged and its middle taken") {
  const OpenedDataset images(kPlugin, make_params(make_two_classes()));
  const std::vector<float> planes = images.floats(0, "image");
  // 64 x 32 shrinks to 16 x 8, of which columns 4 to 11 are taken: each is the mean of four columns of the file.
  for (int x = 0; x < 8; ++x) {
    const double expected = (16 + 4 * x + 1.5) / 64;
    CHECK(std::abs(planes[static_cast<size_t>(128 + x)] - expected) < 0.005);
  }
  CHECK(planes[7 * 8] > 0.85);  // red grows downwards
  CHECK(planes[0] < 0.1);
}

TEST_CASE("augmentation is a function of the sample's seed") {
  const OpenedDataset images(
      kPlugin,
      make_params(make_two_classes(), {{"crop", "random_resized"}, {"flip", 0.5}, {"image_size", int64_t{4}}}));
  std::set<std::vector<float>> seen;
  for (uint64_t seed = 0; seed < 20; ++seed) {
    CHECK(images.floats(0, "image", seed) == images.floats(0, "image", seed));
    seen.insert(images.floats(0, "image", seed));
  }
  CHECK(seen.size() == 20);
}

TEST_CASE("flip is the probability of mirroring") {
  const auto count_mirrored = [root = make_two_classes()](double flip) {
    const OpenedDataset images(kPlugin, make_params(root, {{"flip", flip}}));
    int mirrored = 0;
    for (uint64_t seed = 0; seed < 200; ++seed) {
      const std::vector<float> planes = images.floats(0, "image", seed);
      mirrored += planes[128] > planes[135];  // blue, bright at the left
    }
    return mirrored;
  };
  CHECK(count_mirrored(0) == 0);
  CHECK(count_mirrored(1) == 200);
  CHECK(count_mirrored(0.25) > 30);
  CHECK(count_mirrored(0.25) < 70);
}

TEST_CASE("a single folder serves for training and validation") {
  const std::filesystem::path root = make_empty_folder("parts");
  for (int i = 0; i < 40; ++i) {
    const std::string group = i % 2 ? "odd" : "even";
    write_file(root / group / (std::to_string(i) + ".png"),
               encode(".png", cv::Mat(8, 8, CV_8UC3, cv::Scalar(i, i, i))));
  }
  const OpenedDataset train(kPlugin, make_params(root, {{"split", "train"}}));
  const OpenedDataset validation(kPlugin, make_params(root, {{"split", "validation"}}));
  CHECK(train.size() + validation.size() == 40);
  CHECK(validation.size() >= 5);
  std::set<int> numbers;
  for (const OpenedDataset* part : {&train, &validation}) {
    for (int64_t i = 0; i < part->size(); ++i) {
      const int number = static_cast<int>(std::lround(part->floats(i, "image")[0] * 255));
      numbers.insert(number);
      CHECK(part->integer(i, "label") == number % 2);
    }
  }
  CHECK(numbers.size() == 40);
}

TEST_CASE("a split without images is refused") {
  const std::string text =
      refusal(make_params(make_two_classes(), {{"split", "validation"}, {"validation_fraction", 1e-9}}));
  CHECK(text.find("none of its images falls into the split \"validation\"") != std::string::npos);
}

TEST_CASE("parameters that contradict each other are refused") {
  const std::filesystem::path root = make_two_classes();
  CHECK(refusal(make_params(root, {{"resize", int64_t{7}}})) ==
        "parameter \"resize\" is 7; expected at least image_size, which is 8");
  CHECK(refusal(make_params(root, {{"resize", int64_t{7}}, {"crop", "random_resized"}})).empty());
  CHECK(refusal(make_params(root, {{"mean", std::vector<double>{0.5}}})) ==
        "parameter \"mean\" has 1 numbers; expected 3, for red, green and blue");
}

TEST_CASE("a truncated image among good ones is reported as bad data, by its path") {
  const std::filesystem::path root = make_two_classes();
  std::vector<uint8_t> cut = encode(".jpg", make_gradient(64, 64));
  cut.resize(cut.size() - 100);
  write_file(root / "green" / "b.jpg", cut);
  const OpenedDataset images(kPlugin, make_params(root));
  REQUIRE(images.size() == 3);
  try {
    images.get(2);
    FAIL("not refused");
  } catch (const Refused& error) {
    CHECK(error.status == TENON_BAD_DATA);
    CHECK(std::string(error.what()).find((root / "green" / "b.jpg").string() + ": is truncated") == 0);
  }
  images.get(0);  // the worker goes on
}

#include "plugins/datasets/image_folder/crop_window.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <set>
#include <vector>

using image_folder::choose_window;
using image_folder::Crop;

namespace {

bool is_within(const cv::Rect& window, cv::Size image) {
  return window.x >= 0 && window.y >= 0 && window.width > 0 && window.height > 0 &&
         window.x + window.width <= image.width && window.y + window.height <= image.height;
}

}  // namespace

TEST_CASE("a centre crop takes the middle of the shorter side's share") {
  tenon::Random random(0);
  CHECK(choose_window({512, 256}, {Crop::center, 256, 224}, random) == cv::Rect(144, 16, 224, 224));
  CHECK(choose_window({1024, 2048}, {Crop::center, 256, 224}, random) == cv::Rect(64, 576, 896, 896));
  CHECK(choose_window({100, 300}, {Crop::center, 32, 32}, random) == cv::Rect(0, 100, 100, 100));
}

TEST_CASE("a random crop reaches every place, and none outside") {
  tenon::Random random(1);
  std::set<int> columns;
  for (int i = 0; i < 1000; ++i) {
    const cv::Rect window = choose_window({20, 10}, {Crop::random, 10, 8}, random);
    REQUIRE(is_within(window, {20, 10}));
    CHECK(window.size() == cv::Size(8, 8));
    columns.insert(window.x);
  }
  CHECK(columns.size() == 13);
  CHECK(*columns.begin() == 0);
}

TEST_CASE("a random resized crop keeps to its areas and ratios") {
  tenon::Random random(2);
  const cv::Size image(400, 300);
  std::vector<double> areas;
  for (int i = 0; i < 2000; ++i) {
    const cv::Rect window = choose_window(image, {Crop::random_resized, 256, 224}, random);
    REQUIRE(is_within(window, image));
    const double ratio = static_cast<double>(window.width) / window.height;
    CHECK(ratio > 0.74);
    CHECK(ratio < 1.36);
    areas.push_back(static_cast<double>(window.area()) / image.area());
  }
  CHECK(*std::min_element(areas.begin(), areas.end()) > 0.078);
  CHECK(*std::min_element(areas.begin(), areas.end()) < 0.1);
  CHECK(*std::max_element(areas.begin(), areas.end()) > 0.9);
}

TEST_CASE("where no random window fits, the largest centred one is taken") {
  tenon::Random random(3);
  const image_folder::CropOptions options = {Crop::random_resized, 256, 224};
  CHECK(choose_window({3000, 30}, options, random) == cv::Rect(1480, 0, 40, 30));
  CHECK(choose_window({30, 3000}, options, random) == cv::Rect(0, 1480, 30, 40));
}

TEST_CASE("an image of a single pixel has a window") {
  for (const Crop crop : {Crop::center, Crop::random, Crop::random_resized}) {
    tenon::Random random(4);
    CHECK(choose_window({1, 1}, {crop, 256, 224}, random) == cv::Rect(0, 0, 1, 1));
    CHECK(is_within(choose_window({1, 5000}, {crop, 256, 1}, random), {1, 5000}));
  }
}

TEST_CASE("the window is a function of the generator's seed") {
  const image_folder::CropOptions options = {Crop::random_resized, 256, 224};
  tenon::Random first(5);
  tenon::Random again(5);
  tenon::Random other(6);
  const cv::Rect window = choose_window({400, 300}, options, first);
  CHECK(choose_window({400, 300}, options, again) == window);
  CHECK(choose_window({400, 300}, options, other) != window);
}

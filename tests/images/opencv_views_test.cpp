// Tests tenon/opencv.hpp: matrices over the fields of a sample.
#include <doctest/doctest.h>

#include <opencv2/core.hpp>
#include <tenon/opencv.hpp>

#include "tests/images/sample_slots.h"

namespace opencv_views_test {
namespace {

cv::Mat make_bgr(int height, int width) {
  cv::Mat image(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x)
      image.at<cv::Vec3b>(y, x) = {static_cast<uint8_t>(x), static_cast<uint8_t>(50 + y), 200};
  return image;
}

}  // namespace

TEST_CASE("a matrix over a field writes into the batch") {
  SampleSlots slots(
      {{"mask", TENON_UINT8, {-1, -1}}, {"flow", TENON_FLOAT32, {4, 5, 2}}, {"planes", TENON_INT16, {2, 3, 4}}});
  cv::Mat mask = tenon::view(slots.sink(), "mask", {3, 4});
  mask.setTo(7);
  CHECK(slots.shape == std::vector<int64_t>{3, 4});
  for (int i = 0; i < 12; ++i) CHECK(slots.get<uint8_t>(0)[i] == 7);
  const cv::Mat flow = tenon::view(slots.sink(), "flow");
  CHECK(flow.type() == CV_32FC2);
  CHECK(flow.size() == cv::Size(5, 4));
  std::vector<cv::Mat> planes = tenon::view_planes(slots.sink(), "planes");
  REQUIRE(planes.size() == 2);
  CHECK(planes[1].type() == CV_16SC1);
  planes[1].at<int16_t>(2, 3) = -5;
  CHECK(slots.get<int16_t>(2)[23] == -5);
}

TEST_CASE("put_bgr writes red, green and blue, in both layouts and in each dtype") {
  SampleSlots slots({{"planes", TENON_FLOAT32, {3, 4, 5}},
                     {"bytes", TENON_UINT8, {-1, -1, 3}},
                     {"half", TENON_FLOAT16, {4, 5, 3}},
                     {"half_planes", TENON_FLOAT16, {3, -1, -1}}});
  const cv::Mat image = make_bgr(4, 5);
  const tenon::Sink sink = slots.sink();
  tenon::put_bgr(image, sink, "planes", 1.0 / 255);
  CHECK(slots.shape == std::vector<int64_t>{3, 4, 5});
  tenon::put_bgr(image, sink, "bytes");
  CHECK(slots.shape == std::vector<int64_t>{4, 5, 3});
  tenon::put_bgr(image, sink, "half", 0.5);
  tenon::put_bgr(image, sink, "half_planes", 0.5);
  cv::Mat half, half_red;
  tenon::view(sink, "half").convertTo(half, CV_32F);
  tenon::view_planes(sink, "half_planes", {3, 4, 5})[0].convertTo(half_red, CV_32F);
  for (int y = 0; y < 4; ++y) {
    for (int x = 0; x < 5; ++x) {
      CHECK(slots.get<float>(0)[5 * y + x] == doctest::Approx(200 / 255.0));
      CHECK(slots.get<float>(0)[40 + 5 * y + x] == doctest::Approx(x / 255.0));
      const uint8_t* pixel = slots.get<uint8_t>(1) + 3 * (5 * y + x);
      CHECK(pixel[0] == 200);
      CHECK(pixel[1] == 50 + y);
      CHECK(pixel[2] == x);
      CHECK(half.at<cv::Vec3f>(y, x) == cv::Vec3f(100, (50 + static_cast<float>(y)) / 2, static_cast<float>(x) / 2));
      CHECK(half_red.at<float>(y, x) == 100);
    }
  }
}

TEST_CASE("fields without matrices and images without three channels are refused") {
  SampleSlots slots({{"long", TENON_INT64, {4, 4}}, {"list", TENON_FLOAT32, {4}}, {"image", TENON_FLOAT32, {3, 4, 4}}});
  const auto message = [](const auto& action) -> std::string {
    try {
      action();
    } catch (const tenon::Error& error) {
      return error.what();
    }
    return "accepted";
  };
  CHECK(message([&] { tenon::view(slots.sink(), "long"); }) ==
        "field \"long\" has dtype int64, for which OpenCV 4 has no matrices; write it through slot()");
  CHECK(message([&] { tenon::view(slots.sink(), "list"); }) ==
        "field \"list\" has 1 dimensions; expected [H, W] or [H, W, C]");
  CHECK(message([&] { tenon::put_bgr(cv::Mat(4, 4, CV_8UC1), slots.sink(), "image"); }) ==
        "an image for the field \"image\" has 1 channels; expected blue, green and red");
}

}  // namespace opencv_views_test

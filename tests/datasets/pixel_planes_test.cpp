#include "plugins/datasets/image_folder/pixel_planes.h"

#include <doctest/doctest.h>

using image_folder::Mirror;
using image_folder::PixelPlanes;

TEST_CASE("planes are red, green and blue, normalised") {
  const PixelPlanes planes({0.5, 0.25, 0.0}, {0.5, 1.0, 2.0});
  cv::Mat image(1, 2, CV_8UC3);
  image.at<cv::Vec3b>(0, 0) = {0, 51, 255};  // blue, green, red
  image.at<cv::Vec3b>(0, 1) = {255, 102, 0};
  std::vector<float> written(6);
  planes.write(image, Mirror::no, written.data());
  const std::vector<double> expected = {1, -1, -0.05, 0.15, 0, 0.5};
  for (size_t i = 0; i < 6; ++i) CHECK(written[i] == doctest::Approx(expected[i]));
}

TEST_CASE("mirroring turns each row round, and twice is not at all") {
  const PixelPlanes planes({0, 0, 0}, {1, 1, 1});
  cv::Mat image(2, 3, CV_8UC3);
  for (int i = 0; i < 18; ++i) image.data[i] = static_cast<uchar>(i);
  std::vector<float> plain(18);
  std::vector<float> mirrored(18);
  planes.write(image, Mirror::no, plain.data());
  planes.write(image, Mirror::yes, mirrored.data());
  for (size_t row = 0; row < 6; ++row) {
    for (size_t x = 0; x < 3; ++x) CHECK(mirrored[row * 3 + x] == plain[row * 3 + 2 - x]);
  }
}

TEST_CASE("a part of a larger image is written without what surrounds it") {
  const PixelPlanes planes({0, 0, 0}, {1, 1, 1});
  cv::Mat image(4, 4, CV_8UC3, cv::Scalar(255, 255, 255));
  cv::Mat part = image(cv::Rect(1, 1, 2, 2));
  part.setTo(cv::Scalar(0, 0, 0));
  std::vector<float> written(12, 7.0f);
  planes.write(part, Mirror::no, written.data());
  CHECK(written == std::vector<float>(12, 0.0f));
}

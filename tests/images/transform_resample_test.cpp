#include "framework/images/resample/resample.h"

#include <doctest/doctest.h>

#include <tenon/random.hpp>

#include "tests/images/reference_cases.h"

namespace transform_resample_test {

using namespace images;

namespace {

cv::Mat scale(const cv::Mat& image, const ResizeArea& area, Interpolation interpolation = Interpolation::bilinear,
              const ResamplePasses& passes = best_passes()) {
  ResampleBuffers buffers;
  cv::Mat scaled;
  resize(image, area, interpolation, Antialias::yes, buffers, scaled, passes);
  return scaled;
}

cv::Rect2d whole(const cv::Mat& image) {
  return {0, 0, static_cast<double>(image.cols), static_cast<double>(image.rows)};
}

int draw(tenon::Random& random, int least, int most) {
  return least + static_cast<int>(random.integer(most - least + 1));
}

}  // namespace

TEST_CASE("vector instructions give the bytes of the portable loops") {
  if (!avx2_passes()) return;
  tenon::Random random(1);
  for (uint64_t i = 0; i < 300; ++i) {
    const cv::Mat image = make_noise({draw(random, 1, 90), draw(random, 1, 90)}, i);
    const cv::Size scaled(draw(random, 1, 70), draw(random, 1, 70));
    const cv::Rect part(0, 0, draw(random, 1, scaled.width), draw(random, 1, scaled.height));
    const ResizeArea area = {whole(image), scaled, part};
    const Interpolation interpolation = i % 3 ? Interpolation::bilinear : Interpolation::bicubic;
    CAPTURE(i);
    CHECK(largest_difference(scale(image, area, interpolation, *avx2_passes()),
                             scale(image, area, interpolation, kPortablePasses)) == 0);
  }
}

TEST_CASE("a part of the result equals that part of the whole result") {
  const cv::Mat image = make_noise({83, 61}, 1);
  const cv::Mat scaled = scale(image, {whole(image), {40, 33}, {0, 0, 40, 33}});
  const cv::Rect part(7, 11, 20, 9);
  CHECK(largest_difference(scale(image, {whole(image), {40, 33}, part}), scaled(part)) == 0);
}

TEST_CASE("only the needed window is read, and it is sufficient") {
  const cv::Mat image = make_noise({83, 61}, 2);
  const ResizeArea area = {whole(image), {40, 33}, {7, 11, 20, 9}};
  const cv::Rect window = needed_window(image.size(), area, Interpolation::bilinear);
  CHECK(window.width < 50);
  cv::Mat other = make_noise(image.size(), 3);
  image(window).copyTo(other(window));
  CHECK(largest_difference(scale(other, area), scale(image, area)) == 0);
  const ResizeArea moved = {area.box - cv::Point2d(window.tl()), area.scaled, area.part};
  CHECK(largest_difference(scale(image(window), moved), scale(image, area)) == 0);
}

TEST_CASE("scaling to the same size keeps every byte") {
  const cv::Mat image = make_noise({31, 17}, 4);
  for (const Interpolation interpolation : {Interpolation::nearest, Interpolation::bilinear, Interpolation::bicubic}) {
    CHECK(largest_difference(scale(image, {whole(image), {31, 17}, {0, 0, 31, 17}}, interpolation), image) == 0);
    const cv::Rect part(3, 2, 20, 11);
    CHECK(largest_difference(scale(image, {whole(image), {31, 17}, part}, interpolation), image(part)) == 0);
  }
}

TEST_CASE("one axis can keep its size while the other is scaled") {
  const cv::Mat image = make_noise({40, 30}, 5);
  const cv::Mat narrow = scale(image, {whole(image), {20, 30}, {0, 0, 20, 30}});
  const cv::Mat both = scale(image, {whole(image), {20, 15}, {0, 0, 20, 15}});
  CHECK(largest_difference(scale(narrow, {whole(narrow), {20, 15}, {0, 0, 20, 15}}), both) == 0);
}

TEST_CASE("a uniform colour stays the same at any scale") {
  tenon::Random random(2);
  for (int i = 0; i < 100; ++i) {
    const cv::Scalar colour(draw(random, 0, 255), 255, 0);
    const cv::Mat image(cv::Size(draw(random, 1, 300), draw(random, 1, 50)), CV_8UC3, colour);
    const cv::Size scaled(draw(random, 1, 60), draw(random, 1, 60));
    const cv::Mat result = scale(image, {whole(image), scaled, {{0, 0}, scaled}},
                                 i % 2 ? Interpolation::bilinear : Interpolation::bicubic);
    CHECK(largest_difference(result, cv::Mat(scaled, CV_8UC3, colour)) == 0);
  }
}

TEST_CASE("nothing after the end of an image is read") {
  // A sanitizer detects such a read: each row's memory ends with its last pixel.
  for (int width = 1; width < 40; ++width) {
    std::vector<uint8_t> memory(static_cast<size_t>(3 * width));
    const cv::Mat image(1, width, CV_8UC3, memory.data());
    const cv::Mat scaled = scale(image, {whole(image), {7, 3}, {0, 0, 7, 3}});
    CHECK(cv::countNonZero(scaled.reshape(1)) == 0);
  }
}

}  // namespace transform_resample_test

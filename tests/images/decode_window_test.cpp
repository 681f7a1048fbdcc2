#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <random>

#include <opencv2/imgcodecs.hpp>
#include <tenon/error.hpp>

#include "framework/images/decode/decode_image.h"
#include "tests/datasets/written_images.h"
#include "tests/images/written_jpeg.h"

using images::DecodedWindow;
using images::ImageInfo;
using images::Scaling;

namespace {

constexpr const char* kPath = "photo.jpg";

int pick(std::mt19937& random, int from, int to) {
  return from + static_cast<int>(random() % static_cast<uint32_t>(to - from + 1));
}

cv::Rect pick_window(cv::Size size, std::mt19937& random) {
  const int x = pick(random, 0, size.width - 1);
  const int y = pick(random, 0, size.height - 1);
  return {x, y, pick(random, 1, size.width - x), pick(random, 1, size.height - y)};
}

bool are_equal(const cv::Mat& a, const cv::Mat& b) {
  return a.size() == b.size() && a.type() == b.type() && cv::norm(a, b, cv::NORM_INF) == 0;
}

// Returns the size for which the decoder chooses this scale for the whole image.
cv::Size size_at(int eighths, cv::Size whole) { return {whole.width * eighths / 8, whole.height * eighths / 8}; }

// Compares windows at full size with the whole image, and returns the number of windows that differ.
int count_differing_windows(const std::vector<uint8_t>& file, int windows) {
  images::Decoder decoder;
  const ImageInfo info = images::read_image_info(file, kPath);
  const cv::Mat whole = images::decode_image(file, info, kPath, decoder).clone();
  REQUIRE(whole.size() == info.size);
  std::mt19937 random(7);
  int differing = 0;
  for (int i = 0; i < windows; ++i) {
    // Every fourth window is a single column, where chroma lacks neighbours.
    cv::Rect window = pick_window(info.size, random);
    if (i % 4 == 0) window.width = 1;
    if (i % 8 == 0) window.x = i % 16 == 0 ? 0 : info.size.width - 1;
    const DecodedWindow part =
        images::decode_window(file, info, kPath, window, {{1, 1}, {1, 1}}, decoder, Scaling::none);
    CHECK(part.place == cv::Rect2d(0, 0, window.width, window.height));
    differing += !are_equal(part.image, whole(window));
  }
  return differing;
}

// Does the same at a smaller scale, and compares with the scaled whole image.
int count_differing_scaled_windows(const std::vector<uint8_t>& file, int eighths, int windows) {
  images::Decoder decoder;
  const ImageInfo info = images::read_image_info(file, kPath);
  const DecodedWindow all =
      images::decode_window(file, info, kPath, {{}, info.size}, {info.size, size_at(eighths, info.size)}, decoder);
  const cv::Mat whole = all.image.clone();
  std::mt19937 random(7);
  int differing = 0;
  for (int i = 0; i < windows; ++i) {
    const cv::Rect window = pick_window(info.size, random);
    const cv::Size requested = size_at(all.eighths, window.size());
    const DecodedWindow part = images::decode_window(file, info, kPath, window, {window.size(), requested}, decoder);
    if (part.eighths != all.eighths) continue;  // a window of few pixels also fits a smaller scale
    const double scale = part.eighths / 8.0;
    const double left = all.place.x + window.x * scale - part.place.x;
    const double top = all.place.y + window.y * scale - part.place.y;
    REQUIRE(left == std::floor(left));
    REQUIRE(top == std::floor(top));
    const cv::Rect place(cv::Point(static_cast<int>(left), static_cast<int>(top)), part.image.size());
    REQUIRE((place & cv::Rect({}, whole.size())) == place);
    differing += !are_equal(part.image, whole(place));
  }
  return differing;
}

}  // namespace

TEST_CASE("a window at full size equals that part of the whole image, bit for bit") {
  for (const JpegKind& kind : jpeg_kinds()) {
    for (const cv::Size size : {cv::Size(150, 117), cv::Size(64, 48), cv::Size(17, 5)}) {
      CAPTURE(kind.name);
      CAPTURE(size.width);
      CHECK(count_differing_windows(write_jpeg(make_photo(size, kind.components), kind), 200) == 0);
    }
  }
}

TEST_CASE("a scaled window equals that part of the whole image at the same scale") {
  for (const JpegKind& kind : jpeg_kinds()) {
    for (const int eighths : {4, 2, 1}) {
      CAPTURE(kind.name);
      CAPTURE(eighths);
      const std::vector<uint8_t> file = write_jpeg(make_photo({250, 197}, kind.components), kind);
      CHECK(count_differing_scaled_windows(file, eighths, 100) == 0);
    }
  }
}

TEST_CASE("a window of a turned image is cut from the upright image") {
  const JpegKind kind = {"4:2:0", 3, {2, 2}};
  const std::vector<uint8_t> file = write_jpeg(make_photo({150, 117}, 3), kind);
  for (int orientation = 1; orientation <= 8; ++orientation) {
    CAPTURE(orientation);
    const std::vector<uint8_t> turned = with_orientation(file, orientation);
    REQUIRE(images::read_image_info(turned, kPath).orientation == orientation);
    CHECK(count_differing_windows(turned, 50) == 0);
    for (const int eighths : {4, 2, 1}) CHECK(count_differing_scaled_windows(turned, eighths, 50) == 0);
  }
}

TEST_CASE("the scale is the smallest at which the window still has the requested size") {
  const std::vector<uint8_t> file = write_jpeg(make_photo({400, 300}, 3), {"4:2:0", 3, {2, 2}});
  const ImageInfo info = images::read_image_info(file, kPath);
  images::Decoder decoder;
  const auto eighths = [&](cv::Rect window, cv::Size at_least, Scaling scaling = Scaling::dct) {
    const DecodedWindow part =
        images::decode_window(file, info, kPath, window, {window.size(), at_least}, decoder, scaling);
    CHECK(part.place.width == window.width * part.eighths / 8.0);
    CHECK(part.place.x >= 0);
    CHECK(part.place.x < 1);
    CHECK(part.place.y < 1);
    CHECK(part.place.br().x <= part.image.cols);
    CHECK(part.place.br().y <= part.image.rows);
    CHECK(part.image.cols - part.place.br().x < 1);
    return part.eighths;
  };
  CHECK(eighths({0, 0, 400, 300}, {400, 300}) == 8);
  CHECK(eighths({0, 0, 400, 300}, {201, 150}) == 8);
  CHECK(eighths({0, 0, 400, 300}, {200, 150}) == 4);
  CHECK(eighths({0, 0, 400, 300}, {100, 76}) == 4);
  CHECK(eighths({0, 0, 400, 300}, {100, 75}) == 2);
  CHECK(eighths({0, 0, 400, 300}, {50, 37}) == 1);
  CHECK(eighths({0, 0, 400, 300}, {1, 1}) == 1);
  CHECK(eighths({0, 0, 400, 300}, {1000, 1000}) == 8);
  CHECK(eighths({101, 33, 99, 201}, {25, 20}) == 4);
  CHECK(eighths({101, 33, 101, 201}, {25, 20}) == 2);
  CHECK(eighths({0, 0, 400, 300}, {1, 1}, Scaling::none) == 8);
}

TEST_CASE("a scaled window shows the same as the window at full size") {
  const std::vector<uint8_t> file = write_jpeg(make_photo({400, 300}, 3), {"4:2:0", 3, {2, 2}});
  const ImageInfo info = images::read_image_info(file, kPath);
  images::Decoder decoder;
  const cv::Rect window(80, 40, 160, 160);
  const cv::Scalar full =
      cv::mean(images::decode_window(file, info, kPath, window, {{1, 1}, {1, 1}}, decoder, Scaling::none).image);
  for (const int requested : {80, 40, 20}) {
    const cv::Scalar scaled = cv::mean(
        images::decode_window(file, info, kPath, window, {window.size(), {requested, requested}}, decoder).image);
    for (int c = 0; c < 3; ++c) CHECK(std::abs(full[c] - scaled[c]) < 1.5);
  }
}

TEST_CASE("a window of another format is cut from the whole image") {
  images::silence_opencv();
  for (const char* extension : {".png", ".bmp", ".tiff", ".webp"}) {
    std::vector<uint8_t> file;
    REQUIRE(cv::imencode(extension, make_photo({61, 40}, 3), file));
    CHECK(count_differing_windows(file, 20) == 0);
  }
}

TEST_CASE("the decoder reuses its memory for an image of the same size or smaller") {
  const std::vector<uint8_t> large = write_jpeg(make_photo({150, 117}, 3), {"4:2:0", 3, {2, 2}});
  const std::vector<uint8_t> small = write_jpeg(make_photo({100, 117}, 3), {"4:4:4", 3, {1, 1}});
  images::Decoder decoder;
  const uchar* memory = images::decode_image(large, images::read_image_info(large, kPath), kPath, decoder).data;
  CHECK(images::decode_image(small, images::read_image_info(small, kPath), kPath, decoder).data == memory);
}

TEST_CASE("a decoder continues after a file that it could not decode") {
  const std::vector<uint8_t> good = write_jpeg(make_photo({150, 117}, 3), {"4:2:0", 3, {2, 2}});
  std::vector<uint8_t> bad = good;
  std::fill(bad.begin() + static_cast<ptrdiff_t>(bad.size()) / 2, bad.end() - 2, uint8_t{0});
  const ImageInfo info = images::read_image_info(good, kPath);
  images::Decoder decoder;
  const cv::Mat expected = images::decode_image(good, info, kPath, decoder).clone();
  const std::string refusal = error_of<tenon::DataError>(
      [&] { images::decode_image(bad, images::read_image_info(bad, "bad.jpg"), "bad.jpg", decoder); });
  CHECK(refusal.find("bad.jpg: is damaged and cannot be decoded: Corrupt JPEG data") == 0);
  CHECK(are_equal(images::decode_image(good, info, kPath, decoder), expected));
}

// Compares decoding with Pillow's results for the files in reference/decode, which make_decode_reference.py wrote.
#include <doctest/doctest.h>

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include <opencv2/imgcodecs.hpp>
#include <tenon/error.hpp>

#include "framework/images/decode/decode_image.h"
#include "framework/images/decode/image_info.h"
#include "tests/datasets/written_images.h"

namespace {

namespace fs = std::filesystem;

const fs::path kFolder = fs::path(TENON_SOURCE_DIR) / "tests/images/reference/decode";

// The largest allowed difference from Pillow's values, and its reason. All other files are equal.
const std::map<std::string, int> kMayDifferBy = {
    {"cmyk.tiff", 1},  // libtiff rounds differently
};

std::vector<fs::path> reference_files() {
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(kFolder)) {
    if (fs::exists(entry.path().string() + ".ppm")) files.push_back(entry.path());
  }
  return files;
}

// Reads a PPM as written by Pillow: "P6\nWIDTH HEIGHT\n255\n" and the pixels.
cv::Mat read_expected(const fs::path& file) {
  std::ifstream stream(file.string() + ".ppm", std::ios::binary);
  std::string kind;
  int width = 0;
  int height = 0;
  int most = 0;
  stream >> kind >> width >> height >> most;
  stream.get();
  cv::Mat pixels(height, width, CV_8UC3);
  stream.read(reinterpret_cast<char*>(pixels.data), static_cast<std::streamsize>(pixels.total() * 3));
  REQUIRE(stream.good());
  return pixels;
}

}  // namespace

TEST_CASE("every kind of file is decoded as by Pillow") {
  images::silence_opencv();
  images::Decoder decoder;
  std::vector<uint8_t> bytes;
  const std::vector<fs::path> files = reference_files();
  CHECK(files.size() == 60);
  for (const fs::path& file : files) {
    CAPTURE(file.string());
    images::read_file(file.string(), bytes);
    const cv::Mat expected = read_expected(file);
    const images::ImageInfo info = images::read_image_info(bytes, file.string());
    CHECK(info.size == expected.size());
    const cv::Mat& image = images::decode_image(bytes, info, file.string(), decoder);
    REQUIRE(image.size() == expected.size());
    REQUIRE(image.type() == CV_8UC3);
    const auto allowed = kMayDifferBy.find(file.filename().string());
    CHECK(static_cast<int>(cv::norm(image, expected, cv::NORM_INF)) <=
          (allowed == kMayDifferBy.end() ? 0 : allowed->second));
  }
}

TEST_CASE("every kind of alpha is put over a background as by Pillow, and noticed without one") {
  images::silence_opencv();
  const fs::path folder = fs::path(TENON_SOURCE_DIR) / "tests/images/reference/background";
  images::Decoder decoder(images::Rendering{.background = {{200, 100, 0}}}), plain;
  std::vector<uint8_t> bytes;
  size_t files = 0;
  for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
    const fs::path name = entry.path().stem();  // without .ppm
    CAPTURE(name.string());
    images::read_file(kFolder / name, bytes);
    const images::ImageInfo info = images::read_image_info(bytes, name.string());
    CHECK(info.has_alpha);
    const cv::Mat image = images::decode_image(bytes, info, name.string(), decoder);
    CHECK(cv::norm(image, read_expected(folder / name), cv::NORM_INF) == 0);
    CHECK(decoder.content().is_transparent);
    images::decode_image(bytes, info, name.string(), plain);
    CHECK(plain.content().is_transparent);
    ++files;
  }
  CHECK(files == 7);
  for (const fs::path& file : reference_files()) {
    CAPTURE(file.string());
    images::read_file(file.string(), bytes);
    const images::ImageInfo info = images::read_image_info(bytes, file.string());
    if (fs::exists(folder / (file.filename().string() + ".ppm"))) continue;
    const bool is_refused = file.filename() == "grey_alpha.tiff";
    CHECK(info.has_alpha == is_refused);
    if (is_refused) {
      CHECK_THROWS_AS(images::decode_image(bytes, info, "photo", decoder), tenon::DataError);
      continue;
    }
    const cv::Mat over = images::decode_image(bytes, info, "photo", decoder).clone();
    CHECK(cv::norm(over, images::decode_image(bytes, info, "photo", plain), cv::NORM_INF) == 0);
    CHECK_FALSE(decoder.content().is_transparent);
  }
}

TEST_CASE("16-bit values of any range become 0 to 255 in every format") {
  images::silence_opencv();
  cv::Mat deep(4, 64, CV_16UC3);
  for (int y = 0; y < deep.rows; ++y)
    for (int x = 0; x < deep.cols; ++x)
      deep.at<cv::Vec3w>(y, x) = {static_cast<uint16_t>(x * 65), static_cast<uint16_t>(4095 - x),
                                  static_cast<uint16_t>(y * 20000)};
  cv::Mat grey;
  cv::extractChannel(deep, grey, 0);
  for (const char* extension : {".png", ".tiff", ".ppm", ".pgm"}) {
    for (const int most : {65535, 4095, 1023, 999}) {
      CAPTURE(extension);
      CAPTURE(most);
      const bool is_grey = std::string(extension) == ".pgm";
      const std::vector<uint8_t> file = encode(extension, is_grey ? grey : deep);
      const images::ImageInfo info = images::read_image_info(file, "photo");
      REQUIRE(info.bits == 16);
      images::Decoder decoder(images::Rendering{.max_value = most});
      const cv::Mat& image = images::decode_image(file, info, "photo", decoder);
      CHECK(decoder.content().largest == (is_grey ? 63 * 65 : 60000));
      int wrong = 0;
      for (int y = 0; y < deep.rows; ++y)
        for (int x = 0; x < deep.cols; ++x)
          for (int c = 0; c < 3; ++c) {
            const int stored = deep.at<cv::Vec3w>(y, x)[is_grey ? 0 : 2 - c];  // OpenCV has blue first
            wrong += image.at<cv::Vec3b>(y, x)[c] != std::min(255, stored * 256 / (most + 1));
          }
      CHECK(wrong == 0);
    }
  }
}

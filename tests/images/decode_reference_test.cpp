// Compares decoding with Pillow's results for the files in reference/decode, which make_decode_reference.py wrote.
#include <doctest/doctest.h>

#include <filesystem>
#include <fstream>
#include <map>
#include <string>

#include "plugins/images/decode/decode_image.h"
#include "plugins/images/decode/read_file.h"

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
  images::load_decoders();
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

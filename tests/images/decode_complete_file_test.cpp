#include "framework/images/decode/headers.h"

#include <doctest/doctest.h>

#include <opencv2/imgcodecs.hpp>

#include "tests/datasets/written_images.h"

using images::check_completeness;
using images::Completeness;

namespace {

std::vector<std::vector<uint8_t>> whole_files() {
  std::vector<uint8_t> progressive;
  cv::imencode(".jpg", make_gradient(40, 30), progressive, {cv::IMWRITE_JPEG_PROGRESSIVE, 1});
  std::vector<uint8_t> restarts;  // with restart markers within the scan
  cv::imencode(".jpg", make_gradient(40, 30), restarts, {cv::IMWRITE_JPEG_RST_INTERVAL, 1});
  return {encode(".jpg", make_gradient(40, 30)), encode(".png", make_gradient(40, 30)), progressive, restarts};
}

}  // namespace

TEST_CASE("a whole file is complete, even with data after it") {
  for (std::vector<uint8_t> file : whole_files()) {
    CHECK(check_completeness(file) == Completeness::complete);
    file.insert(file.end(), 100, 0);
    CHECK(check_completeness(file) == Completeness::complete);
  }
}

TEST_CASE("a file that is cut anywhere is truncated") {
  for (const std::vector<uint8_t>& file : whole_files()) {
    // A PNG's last four bytes are the checksum of an empty chunk. A JPEG's end is its last two bytes.
    for (size_t size = 8; size < file.size(); ++size) {
      CAPTURE(size);
      CHECK(check_completeness(std::span(file).first(size)) == Completeness::truncated);
    }
  }
}

TEST_CASE("the end of a thumbnail within a JPEG is not the end of the JPEG") {
  std::vector<uint8_t> file = encode(".jpg", make_gradient(40, 30));
  const std::vector<uint8_t> thumbnail = encode(".jpg", make_gradient(4, 3));
  const size_t length = thumbnail.size() + 2;
  std::vector<uint8_t> segment = {0xFF, 0xE1, static_cast<uint8_t>(length >> 8), static_cast<uint8_t>(length & 255)};
  segment.insert(segment.end(), thumbnail.begin(), thumbnail.end());
  file.insert(file.begin() + 2, segment.begin(), segment.end());
  CHECK(check_completeness(file) == Completeness::complete);
  file.resize(file.size() - 2);
  CHECK(check_completeness(file) == Completeness::truncated);
}

TEST_CASE("a WebP has at least its stated length") {
  std::vector<uint8_t> file = encode(".webp", make_gradient(40, 30));
  CHECK(check_completeness(file) == Completeness::complete);
  file.pop_back();
  CHECK(check_completeness(file) == Completeness::truncated);
}

TEST_CASE("a progressive JPEG that ends within a segment after its first scan is truncated") {
  std::vector<uint8_t> file;
  cv::imencode(".jpg", make_gradient(40, 30), file, {cv::IMWRITE_JPEG_PROGRESSIVE, 1});
  const std::vector<uint8_t> note = {0xFF, 0xFE, 0x00, 0x06,
                                     0xFF, 0xD9, 'o',  'k'};  // contains the bytes of an end marker
  file.insert(file.end() - 2, note.begin(), note.end());
  CHECK(check_completeness(file) == Completeness::complete);
  file.resize(file.size() - 4);
  CHECK(check_completeness(file) == Completeness::truncated);
}

TEST_CASE("other formats are left to their decoders") {
  CHECK(check_completeness(encode(".bmp", make_gradient(4, 3))) == Completeness::unknown_format);
  CHECK(check_completeness({}) == Completeness::unknown_format);
}

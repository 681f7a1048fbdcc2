#include "tests/datasets/written_masks.h"

#include <stdexcept>
#include <string>

#include <opencv2/imgcodecs.hpp>

namespace {

void append_number(uint32_t number, std::vector<uint8_t>& bytes) {
  for (int shift = 24; shift >= 0; shift -= 8) bytes.push_back(static_cast<uint8_t>(number >> shift));
}

void append_chunk(const std::string& type, const std::vector<uint8_t>& content, std::vector<uint8_t>& file) {
  append_number(static_cast<uint32_t>(content.size()), file);
  std::vector<uint8_t> body(type.begin(), type.end());
  body.insert(body.end(), content.begin(), content.end());
  uint32_t crc = 0xFFFFFFFFu;
  for (const uint8_t byte : body) {
    crc ^= byte;
    for (int bit = 0; bit < 8; ++bit) crc = (crc & 1) ? (crc >> 1) ^ 0xEDB88320u : crc >> 1;
  }
  file.insert(file.end(), body.begin(), body.end());
  append_number(~crc, file);
}

}  // namespace

std::vector<uint8_t> with_palette(const std::vector<uint8_t>& grey,
                                  const std::vector<std::array<uint8_t, 3>>& palette) {
  constexpr size_t kAfterHeader = 8 + 12 + 13;
  std::vector<uint8_t> header(grey.begin() + 16, grey.begin() + 16 + 13);
  header[9] = 3;
  std::vector<uint8_t> colours;
  for (const auto& colour : palette) colours.insert(colours.end(), colour.begin(), colour.end());
  std::vector<uint8_t> file(grey.begin(), grey.begin() + 8);
  append_chunk("IHDR", header, file);
  append_chunk("PLTE", colours, file);
  append_chunk("tRNS", {0}, file);
  file.insert(file.end(), grey.begin() + kAfterHeader, grey.end());
  // A decoder that supports palettes must return these colours.
  const cv::Mat levels = cv::imdecode(grey, cv::IMREAD_UNCHANGED);
  const cv::Mat seen = cv::imdecode(file, cv::IMREAD_COLOR);
  if (seen.size() != levels.size()) throw std::runtime_error("not a palette image");
  for (int i = 0; i < static_cast<int>(levels.total()); ++i) {
    const auto& colour = palette.at(levels.at<uchar>(i / levels.cols, i % levels.cols));
    const auto& bgr = seen.at<cv::Vec3b>(i / levels.cols, i % levels.cols);
    if (bgr != cv::Vec3b(colour[2], colour[1], colour[0])) throw std::runtime_error("another palette");
  }
  return file;
}

std::vector<uint8_t> encode_one_bit(const cv::Mat& image) {
  std::vector<uint8_t> bytes;
  if (!cv::imencode(".png", image, bytes, {cv::IMWRITE_PNG_BILEVEL, 1})) throw std::runtime_error("cannot encode");
  return bytes;
}

std::vector<uint8_t> with_png_orientation(std::vector<uint8_t> png, uint8_t orientation) {
  constexpr int kAfterHeader = 8 + 12 + 13;
  std::vector<uint8_t> chunk;
  append_chunk("eXIf", {'I', 'I', 42, 0, 8, 0, 0, 0, 1, 0, 0x12, 1, 3, 0, 1, 0, 0, 0, orientation, 0, 0, 0, 0, 0, 0, 0},
               chunk);
  png.insert(png.begin() + kAfterHeader, chunk.begin(), chunk.end());
  return png;
}

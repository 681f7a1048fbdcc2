#include "tests/datasets/written_images.h"

#include <fstream>
#include <stdexcept>

#include <opencv2/imgcodecs.hpp>

#include "tests/test_folder.h"

std::filesystem::path make_empty_folder(const std::string& name) {
  const std::filesystem::path folder = tenon::test_folder() / name;
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  return folder;
}

std::vector<uint8_t> encode(const std::string& extension, const cv::Mat& image) {
  std::vector<uint8_t> bytes;
  if (!cv::imencode(extension, image, bytes)) throw std::runtime_error("cannot encode " + extension);
  return bytes;
}

void write_file(const std::filesystem::path& file, const std::vector<uint8_t>& bytes) {
  std::filesystem::create_directories(file.parent_path());
  std::ofstream stream(file, std::ios::binary);
  stream.write(reinterpret_cast<const char*>(bytes.data()), static_cast<std::streamsize>(bytes.size()));
  if (!stream.flush()) throw std::runtime_error("cannot write " + file.string());
}

cv::Mat make_gradient(int width, int height) {
  cv::Mat image(height, width, CV_8UC3);
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      const auto across = static_cast<uchar>(255 * x / width);
      image.at<cv::Vec3b>(y, x) = {across, across, static_cast<uchar>(255 * y / height)};
    }
  }
  return image;
}

std::vector<uint8_t> with_jpeg_orientation(std::vector<uint8_t> jpeg, uint8_t orientation) {
  const std::vector<uint8_t> exif = {0xFF, 0xE1, 0, 34, 'E',         'x', 'i', 'f', 0,    0, 'I', 'I',
                                     42,   0,    8, 0,  0,           0,   1,   0,   0x12, 1, 3,   0,
                                     1,    0,    0, 0,  orientation, 0,   0,   0,   0,    0, 0,   0};
  jpeg.insert(jpeg.begin() + 2, exif.begin(), exif.end());
  return jpeg;
}

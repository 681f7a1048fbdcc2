// From an image file to pixels.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

namespace image_folder {

// Loads OpenCV's decoders, which takes a while the first time. Called on creation, so that a library that is missing is
// noticed before a run starts. Throws tenon::Error.
void load_decoders();

// Reads and decodes a file into `image`, [height, width] of 8-bit BGR, turned upright as its EXIF orientation says.
// Grey images get three equal channels, 16-bit ones lose their lower bits, transparency is dropped. `buffer` holds the
// file meanwhile; like `image` it is reused from call to call. Throws tenon::DataError naming the file: it cannot be
// read, is truncated, or is no image.
void read_image(const std::string& path, std::vector<uint8_t>& buffer, cv::Mat& image);

}  // namespace image_folder

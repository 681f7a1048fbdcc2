// Writes image files for the tests.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

// Returns a new empty folder within the test's folder.
std::filesystem::path make_empty_folder(const std::string& name);

// Encodes the image in the format of `extension` (".jpg", ".png").
std::vector<uint8_t> encode(const std::string& extension, const cv::Mat& image);

// Creates missing parent folders.
void write_file(const std::filesystem::path& file, const std::vector<uint8_t>& bytes);

// Returns an 8-bit BGR image without fine detail, so that JPEG barely changes it: bright at the right, and red at the
// bottom.
cv::Mat make_gradient(int width, int height);

// Returns the message of the `E` that `action` throws, or "" if it throws nothing.
template <class E, class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

// Adds EXIF with this orientation to a JPEG.
std::vector<uint8_t> with_jpeg_orientation(std::vector<uint8_t> jpeg, uint8_t orientation);

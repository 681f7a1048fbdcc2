// Image files that the tests write for themselves.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

// A new empty folder below the test's own.
std::filesystem::path make_empty_folder(const std::string& name);

// The image as a file of the format of `extension` (".jpg", ".png").
std::vector<uint8_t> encode(const std::string& extension, const cv::Mat& image);

// Creates the folders above the file where they lack.
void write_file(const std::filesystem::path& file, const std::vector<uint8_t>& bytes);

// 8-bit BGR without fine detail, so that JPEG keeps it nearly as it is: bright at the right, and red at the bottom.
cv::Mat make_gradient(int width, int height);

// Text of what `action` throws, which must be an `E`; "" if it throws nothing.
template <class E, class Action>
std::string error_of(Action&& action) {
  try {
    action();
  } catch (const E& error) {
    return error.what();
  }
  return "";
}

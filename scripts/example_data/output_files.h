// Files that are written whole, and a folder that appears with all of them or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <opencv2/core.hpp>

namespace example_data {

// Throws std::runtime_error naming the file if it cannot be written.
void write_file(const std::filesystem::path& file, const std::string& bytes);

// `image`: 8 bits, red, green and blue, or grey. The format is that of the extension. Throws as write_file.
void write_image(const std::filesystem::path& file, const cv::Mat& image);

// Has `write` fill a folder of another name beside `folder`, and gives it this name when it is complete. Throws
// std::invalid_argument if `folder` is there already and not empty.
void write_folder(const std::filesystem::path& folder,
                  const std::function<void(const std::filesystem::path& folder)>& write);

// 00042 for 42, so that names sort as numbers do.
std::string padded(int number);

}  // namespace example_data

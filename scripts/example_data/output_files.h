// Writes files, and creates a folder atomically: it appears with all its files or not at all.
#pragma once

#include <filesystem>
#include <functional>
#include <string>

#include <opencv2/core.hpp>

namespace example_data {

// Throws std::runtime_error with the file name if the file cannot be written.
void write_file(const std::filesystem::path& file, const std::string& bytes);

// `image` is 8-bit RGB or greyscale. The file extension selects the format. Throws like write_file.
void write_image(const std::filesystem::path& file, const cv::Mat& image);

// Calls `write` with a temporary folder next to `folder`, and renames the result to `folder` when it is complete.
// Throws std::invalid_argument if `folder` already exists and is not empty.
void write_folder(const std::filesystem::path& folder,
                  const std::function<void(const std::filesystem::path& folder)>& write);

// Pads a number with zeros, 00042 for 42, so that names sort like numbers.
std::string padded(int number);

}  // namespace example_data

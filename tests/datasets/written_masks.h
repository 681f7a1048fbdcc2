// Writes PNG files of kinds that OpenCV does not write.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <opencv2/core.hpp>

// Converts the file of an 8-bit grey image to a palette image with the levels as indices.
std::vector<uint8_t> with_palette(const std::vector<uint8_t>& grey, const std::vector<std::array<uint8_t, 3>>& palette);

// Encodes 0 and 255 as single bits.
std::vector<uint8_t> encode_one_bit(const cv::Mat& image);

// Adds a chunk eXIf with this orientation to a PNG.
std::vector<uint8_t> with_png_orientation(std::vector<uint8_t> png, uint8_t orientation);

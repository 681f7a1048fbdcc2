#pragma once

#include <filesystem>

namespace example_data {

// Writes data for the dataset segmentation: 600 pictures, images/*.png, with 96 x 96 pixels and one to four shapes.
// Their masks are in masks/*.png: 0 background, 1 circle, 2 square, 3 triangle, 255 for pixels on an edge.
void write_shapes(const std::filesystem::path& folder);

}  // namespace example_data

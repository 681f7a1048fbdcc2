#pragma once

#include <filesystem>

namespace example_data {

// For the dataset segmentation: 600 pictures, images/*.png, of 96 x 96 pixels with one to four shapes on each, and
// their masks, masks/*.png: 0 ground, 1 circle, 2 square, 3 triangle, 255 for pixels that an edge runs through.
void write_shapes(const std::filesystem::path& folder);

}  // namespace example_data

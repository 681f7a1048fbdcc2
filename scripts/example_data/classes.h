#pragma once

#include <filesystem>

namespace example_data {

// For the dataset image_folder: circle/*.jpg, square/*.jpg and triangle/*.jpg, 250 pictures of each with one shape, and
// of sizes from 64 to 128 pixels. For image_csv the same pictures in classes.csv: path, label, and size, the shape's
// diameter over the picture's shorter side.
void write_classes(const std::filesystem::path& folder);

}  // namespace example_data

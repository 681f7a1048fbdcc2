#pragma once

#include <filesystem>

namespace example_data {

// Writes data for the dataset image_folder: circle/*.jpg, square/*.jpg and triangle/*.jpg. Each class has 250 pictures
// with one shape. Sides have 64 to 128 pixels. classes.csv lists the same pictures for the dataset image_csv, with the
// columns path, label and size. The size is the shape's diameter divided by the shorter side of the picture.
void write_classes(const std::filesystem::path& folder);

}  // namespace example_data

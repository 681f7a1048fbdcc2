// Fields that hold positions in an image. The transforms and the EXIF orientation of the image do not move them.
#pragma once

#include <string>
#include <vector>

#include "plugins/datasets/shared/image_reader.h"

namespace datasets {

// Whether some of the columns or fields seem to hold coordinates, by their names: x1, box_left, ymin, bbox2. A single
// "x" or "y" is often the target of a regression.
bool have_coordinates(const std::vector<std::string>& names);

// Whether an array seems to hold a value for each pixel, by its name: mask, depth_map.
bool is_pixel_map(const std::string& name);

// Logs that the transforms of the images do not move `positions`, such as "coordinates among the targets", if they move
// the image. `are_relative`: the positions are fractions of the image's size, which scaling does not change.
void warn_of_positions(const ImageReader& reader, const std::string& positions, bool are_relative);

}  // namespace datasets

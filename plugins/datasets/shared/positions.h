// Fields that hold positions in an image. The transforms and the EXIF orientation of the image do not move them.
#pragma once

#include <string>
#include <vector>

namespace datasets {

// Whether some of the columns or fields seem to hold coordinates, by their names: x1, box_left, ymin, bbox2. A single
// "x" or "y" is often the target of a regression.
bool have_coordinates(const std::vector<std::string>& names);

// Whether an array seems to hold a value for each pixel, by its name: mask, depth_map.
bool is_pixel_map(const std::string& name);

}  // namespace datasets

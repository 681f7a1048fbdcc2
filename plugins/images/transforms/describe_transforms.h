// Generates docs/reference/transforms.md from the declarations of the transforms.
#pragma once

#include <string>

namespace images {

std::string describe_transforms();

}  // namespace images

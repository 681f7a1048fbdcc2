#pragma once

#include <filesystem>

namespace example_data {

// Writes data for the dataset pairs: 2000 pairs in pairs.csv, half of them with the same form. The columns first and
// second are paths of pictures, images/*.png, with 48 x 48 pixels and one shape each. The column label is "same" or
// "different" and compares the forms. The column size_ratio is log2(radius of second / radius of first).
void write_pairs(const std::filesystem::path& folder);

}  // namespace example_data

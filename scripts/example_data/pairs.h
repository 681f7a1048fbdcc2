#pragma once

#include <filesystem>

namespace example_data {

// For the dataset pairs: pairs.csv with the columns first and second, paths of pictures of 48 x 48 pixels with one
// shape each, which are its folder's images/*.png; label, "same" or "different": whether both are of one form; and
// size_ratio, the binary logarithm of the second one's radius over that of the first. 2000 pairs, half of them the
// same.
void write_pairs(const std::filesystem::path& folder);

}  // namespace example_data

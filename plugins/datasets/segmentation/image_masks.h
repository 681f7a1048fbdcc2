// Which images there are, and which mask belongs to each.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace segmentation {

struct ImageMask {
  std::string image;  // relative to the folder, or as the manifest has it
  std::string image_path;
  std::string mask_path;
};

// Of two folders within `root`: an image and its mask have the same path there but for the extension. Sorted by the
// image's path in byte order; hidden files (`.name`) are left out. Throws tenon::DataError naming the file: an image
// without a mask or the other way round, two files of the same name, or a folder that cannot be read or is empty.
std::vector<ImageMask> list_image_masks(const std::filesystem::path& root, const std::string& images,
                                        const std::string& masks);

// Of a CSV file with a row for each pair, in its order; relative paths start from the file's folder. `images` and
// `masks` name the columns. Throws tenon::DataError naming file, line and column.
std::vector<ImageMask> read_manifest(const std::filesystem::path& file, const std::string& images,
                                     const std::string& masks);

}  // namespace segmentation

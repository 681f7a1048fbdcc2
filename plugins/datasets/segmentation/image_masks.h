// Lists the images and the mask of each image.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace segmentation {

struct ImageMask {
  std::string image;  // relative to the folder, or as written in the manifest
  std::string image_path;
  std::string mask_path;
};

// Lists the images of two folders within `root`, as datasets::list_images(). An image and its mask have the same
// relative path except for the extension. The pairs are sorted by the image's path in byte order. Logs how many files
// are no images. Throws tenon::DataError naming the file: an image without a mask, a mask without an image, two files
// of the same name, or a folder that cannot be read or has no image.
std::vector<ImageMask> list_image_masks(const std::filesystem::path& root, const std::string& images,
                                        const std::string& masks);

// Reads a CSV file with one row per pair, and keeps their order. Relative paths start from the file's folder. `images`
// and `masks` are the names of the columns. Throws tenon::DataError naming file, line and column. `missing_files`: as
// the parameter of that name (listed_paths.h).
std::vector<ImageMask> read_manifest(const std::filesystem::path& file, const std::string& images,
                                     const std::string& masks, const std::string& missing_files = "error");

// Of the sizes of all files, and of the contents of 1000 masks that are spread over all of them. A file that cannot be
// read is left out, because its sample reports it.
uint64_t hash_files(const std::vector<ImageMask>& pairs);

}  // namespace segmentation

// Images without labels, such as those that `host predict --input` reads.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

namespace datasets {

struct UnlabelledImage {
  std::string name;  // for predictions: relative to the only folder, or as given
  std::string path;
};

// The parameter `unlabelled`, a list of inputs for list_unlabelled_images().
tenon::Param unlabelled_parameter();

// Lists the images of the inputs, in the order of the inputs:
// - a folder: its images at any depth, sorted by path in byte order. A file is an image if is_image_name(); hidden
// files
//   and folders (`.name`) are left out, and links to folders are not followed. Logs how many files are no images.
// - a file that ends in .csv: the paths in a column, in the order of the rows, relative to the folder of the file. It
// is
//   the column `column` if the table has it, otherwise `image`, otherwise the first one.
// - another file: an image.
// Throws tenon::DataError naming the input that does not exist, cannot be read or has no image.
std::vector<UnlabelledImage> list_unlabelled_images(const std::vector<std::string>& inputs,
                                                    const std::string& column = "image");

// Whether the extension is that of an image: .jpg .jpeg .jpe .png .bmp .webp .tif .tiff .pgm or .ppm, in any case.
bool is_image_name(const std::filesystem::path& path);

}  // namespace datasets

// Lists images.
#pragma once

#include <algorithm>
#include <array>
#include <cstddef>
#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>

namespace datasets {

// Images are known by their names, because opening a million files would take minutes.

// The text after the last dot, in lower case: "jpg".
inline std::string extension_in_lower_case(const std::filesystem::path& path) {
  std::string extension = path.extension().native().substr(path.has_extension() ? 1 : 0);
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

// `extension`: in lower case, without the dot.
inline bool is_image_extension(std::string_view extension) {
  constexpr std::array<std::string_view, 13> kKnown = {"jpg", "jpeg", "jpe", "jfif", "png", "bmp", "webp",
                                                       "tif", "tiff", "pbm", "pgm",  "pnm", "ppm"};
  return std::find(kKnown.begin(), kKnown.end(), extension) != kKnown.end();
}

inline bool is_image_name(const std::filesystem::path& path) {
  return is_image_extension(extension_in_lower_case(path));
}

// Files that have no image's extension, such as Thumbs.db, and folders that hold copies of images.
struct SkippedFiles {
  size_t count = 0;
  std::string first;  // relative to the folder
  size_t thumbnail_folders = 0;

  void add(const std::string& path);
  // Whether a file or folder is left out by its name: it is hidden (`.name`), or has the thumbnails that a Synology
  // server makes (`@eaDir`).
  bool leaves_out(const std::filesystem::path& path);
};

// Returns the images of a folder at any depth, relative to `root`, which contains the folder, in byte order. A file is
// an image if is_image_name(). Those that leaves_out() names are left out. Links to files and folders are
// followed, see visit_tree(). `expected`: "a folder of images". Throws tenon::DataError naming the folder if it cannot
// be listed, and naming the file if it is a link without a target, a FIFO, a socket or a device.
std::vector<std::string> list_images(const std::filesystem::path& folder, const std::filesystem::path& root,
                                     const std::string& expected, SkippedFiles& skipped);

// Logs the number of skipped files and the first one, and the number of folders with thumbnails, if there are any.
void warn_about(const SkippedFiles& skipped, const std::string& folder);

// An image without a label, such as those that `host predict --input` reads.
struct UnlabelledImage {
  std::string name;  // for predictions: relative to the only folder, or as given
  std::string path;
};

// The parameter `unlabelled`, a list of inputs for list_unlabelled_images().
tenon::Param unlabelled_parameter();

// Lists the images of the inputs, in the order of the inputs:
// - a folder: its images, as list_images(). Logs how many files are no images.
// - a file that ends in .csv, .tsv or .txt (separated by tabs): the paths in a column, in the order of the rows,
//   relative to the folder of the file. It is the column `column` if the table has it, otherwise `image`, otherwise the
//   first one. If the first row has the path of an image, the file has no header, and all rows are read. Each file must
//   exist.
// - another file: an image.
// Throws tenon::DataError naming the input that does not exist, cannot be read or has no image.
std::vector<UnlabelledImage> list_unlabelled_images(const std::vector<std::string>& inputs,
                                                    const std::string& column = "image");

}  // namespace datasets

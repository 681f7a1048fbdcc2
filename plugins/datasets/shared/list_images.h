// Lists the images in a folder.
#pragma once

#include <cstddef>
#include <filesystem>
#include <string>
#include <vector>

namespace datasets {

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

}  // namespace datasets

// Lists the images in a folder, and their classes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace image_folder {

struct ImageFile {
  std::string path;  // relative to the folder, beginning with the class: `cat/2019/1.jpg`
  int64_t label;     // index into ImageFiles::classes
};

// Files in class folders that have no image's extension.
struct SkippedFiles {
  size_t count = 0;
  std::string first;  // relative to the folder, in the order of the images
};

struct ImageFiles {
  std::vector<std::string> classes;  // names of the class folders, in byte order
  std::vector<ImageFile> images;     // by class, then by path in byte order
  SkippedFiles skipped;
};

// Lists `root`, which has a folder for each class. A class folder holds its images at any depth. A file is an image if
// its extension is .jpg .jpeg .jpe .png .bmp .webp .tif .tiff .pgm or .ppm, in any case. Opening a million files would
// take minutes. Hidden files and folders (`.name`) are left out. Links to class folders and to files are followed.
// Links to folders within a class are not followed, because they may form a cycle.
// Throws tenon::DataError naming the folder if it cannot be read, has no class, or a class has no image, and naming the
// file if it is a link without a target, a FIFO, a socket or a device.
ImageFiles list_image_files(const std::filesystem::path& root);

}  // namespace image_folder

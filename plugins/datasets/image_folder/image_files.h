// Lists the images in a folder, and their classes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

#include "plugins/datasets/shared/list_images.h"

namespace image_folder {

struct ImageFile {
  std::string path;  // relative to the folder, beginning with the class: `cat/2019/1.jpg`
  int64_t label;     // index into ImageFiles::classes
};

struct ImageFiles {
  // Names of the class folders, without blanks around them; by value if all are numbers, else in byte order.
  std::vector<std::string> classes;
  std::vector<ImageFile> images;   // by class, then by path in byte order
  datasets::SkippedFiles skipped;  // in class folders
};

// Lists `root`, which has a folder for each class, with its images at any depth, as datasets::list_images(). Links to
// folders are followed. Hidden folders (`.name`) are no classes.
// Throws tenon::DataError naming the folder if it cannot be read, has no class, or a class has no image, and naming the
// file if it is a link without a target, a FIFO, a socket or a device.
ImageFiles list_image_files(const std::filesystem::path& root);

}  // namespace image_folder

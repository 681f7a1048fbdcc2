// Which images a folder holds, and of which class each is.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace image_folder {

struct ImageFile {
  std::string path;  // relative to the folder, beginning with the class: `cat/2019/1.jpg`
  int64_t label;     // index into ImageFiles::classes
};

struct ImageFiles {
  std::vector<std::string> classes;  // names of the class folders, in byte order
  std::vector<ImageFile> images;     // by class, then by path in byte order
};

// Lists `root`, which has a folder for each class; images lie in it at any depth. A file is an image by its extension
// (.jpg .jpeg .jpe .png .bmp .webp .tif .tiff .pgm .ppm, in any case): to open a million files would take minutes. What
// is hidden (`.name`) is left out. Links to class folders and files are followed, links to folders within a class not,
// for they may lead in a circle.
// Throws tenon::DataError naming the folder: it cannot be read, has no class, or a class has no image.
ImageFiles list_image_files(const std::filesystem::path& root);

}  // namespace image_folder

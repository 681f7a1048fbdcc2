#include "plugins/datasets/image_folder/image_files.h"

#include <algorithm>
#include <system_error>

#include <tenon/error.hpp>

#include "plugins/datasets/shared/list_folder.h"
#include "plugins/datasets/shared/listed_file.h"
#include "plugins/datasets/shared/unlabelled_images.h"

namespace image_folder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected = "a folder with one folder per class";

bool is_hidden(const fs::path& path) { return path.filename().native().front() == '.'; }

std::vector<std::string> list_classes(const fs::path& root) {
  std::vector<std::string> classes;
  bool has_images = false;
  datasets::visit_folder(root, kExpected, [&](const fs::directory_entry& entry) {
    if (is_hidden(entry.path())) return;
    if (datasets::is_listed_file(entry, "a folder of images")) {
      has_images = has_images || datasets::is_image_name(entry.path());
      return;
    }
    classes.push_back(entry.path().filename().native());
  });
  std::sort(classes.begin(), classes.end());
  if (classes.empty()) {
    throw tenon::DataError(root.native() + ": holds no folder; expected one folder of images per class" +
                           (has_images ? ": it has images, so " + root.parent_path().native() + " may be meant" : ""));
  }
  return classes;
}

std::vector<std::string> list_class_images(const fs::path& root, const std::string& name, SkippedFiles& skipped) {
  std::vector<std::string> paths, others;
  datasets::visit_tree(root / name, kExpected, [&](const fs::directory_entry& entry) {
    if (is_hidden(entry.path())) return false;
    if (!datasets::is_image_name(entry.path())) {
      std::error_code is_link_without_target;
      if (!entry.is_directory(is_link_without_target)) others.push_back(entry.path().lexically_relative(root).native());
    } else if (datasets::is_listed_file(entry, "an image")) {
      paths.push_back(entry.path().lexically_relative(root).native());
    }
    return true;
  });
  if (skipped.count == 0 && !others.empty()) skipped.first = *std::min_element(others.begin(), others.end());
  skipped.count += others.size();
  std::sort(paths.begin(), paths.end());
  if (paths.empty()) {
    throw tenon::DataError((root / name).native() +
                           ": the class holds no image; expected .jpg, .png or another known extension; add images or "
                           "remove the folder");
  }
  return paths;
}

}  // namespace

ImageFiles list_image_files(const fs::path& root) {
  ImageFiles files;
  files.classes = list_classes(root);
  for (size_t label = 0; label < files.classes.size(); ++label) {
    for (std::string& path : list_class_images(root, files.classes[label], files.skipped)) {
      files.images.push_back({std::move(path), static_cast<int64_t>(label)});
    }
  }
  return files;
}

}  // namespace image_folder

#include "plugins/datasets/image_folder/image_files.h"

#include <strings.h>

#include <algorithm>
#include <map>
#include <utility>

#include <tenon/error.hpp>

#include "framework/formats/class_names.h"
#include "framework/formats/strings.h"
#include "plugins/datasets/shared/find_files.h"
#include "plugins/datasets/shared/list_images.h"
#include "plugins/datasets/shared/table_targets.h"
#include "plugins/datasets/shared/warn.h"

namespace image_folder {
namespace {

namespace fs = std::filesystem;

constexpr const char* kExpected = "a folder with one folder per class";

// Throws tenon::DataError if all classes have the names of splits.
void refuse_splits(const std::vector<std::string>& classes, const fs::path& root) {
  const auto is_named = [](const std::string& name, const std::vector<const char*>& splits) {
    return std::any_of(splits.begin(), splits.end(),
                       [&](const char* split) { return strcasecmp(name.c_str(), split) == 0; });
  };
  const auto is_split = [&](const std::string& name) {
    return is_named(name, {"train", "training", "val", "valid", "validation", "dev", "test", "testing"});
  };
  if (!std::all_of(classes.begin(), classes.end(), is_split)) return;
  const auto train = std::find_if(classes.begin(), classes.end(), [&](const std::string& name) {
    return is_named(name, {"train", "training"});
  });
  throw tenon::DataError(root.native() + ": its folders are named like splits (" + formats::join(classes) +
                         "), and would be the classes; expected one folder of images per class; set path = \"" +
                         (root / (train == classes.end() ? classes.front() : *train)).native() + "\" for a split");
}

std::vector<std::string> list_classes(const fs::path& root, datasets::SkippedFiles& skipped) {
  std::vector<std::string> classes;
  bool has_images = false;
  datasets::visit_folder(root, kExpected, [&](const fs::directory_entry& entry) {
    if (skipped.leaves_out(entry.path())) return;
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
  refuse_splits(classes, root);
  return classes;
}

std::vector<std::string> list_class_images(const fs::path& root, const std::string& name,
                                           datasets::SkippedFiles& skipped) {
  std::vector<std::string> paths = datasets::list_images(root / name, root, kExpected, skipped);
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
  formats::NameCleaner cleaner;
  std::map<std::string, std::string> folders;  // by the name of the class
  for (const std::string& folder : list_classes(root, files.skipped)) {
    const std::string name = cleaner.clean(folder);
    const auto [other, is_new] = folders.emplace(name, folder);
    if (!is_new || name.empty()) {
      throw tenon::DataError((root / folder).native() + ": is a class named \"" + name + "\"" +
                             (is_new ? "" : ", like " + (root / other->second).native()) +
                             "; expected a different name for each class, without blanks around it; rename the folder");
    }
    files.classes.push_back(name);
  }
  if (const std::string changes = cleaner.describe_changes(); !changes.empty())
    datasets::warn(root.native() + ": folders of classes: " + changes);
  files.classes = formats::sort_names(std::move(files.classes));
  tables::check_names(files.classes, root.native(), "rename a folder, or move its images to the other one");
  tables::report_order(files.classes, root.native());
  for (size_t label = 0; label < files.classes.size(); ++label) {
    for (std::string& path : list_class_images(root, folders.at(files.classes[label]), files.skipped)) {
      files.images.push_back({std::move(path), static_cast<int64_t>(label)});
    }
  }
  return files;
}

}  // namespace image_folder

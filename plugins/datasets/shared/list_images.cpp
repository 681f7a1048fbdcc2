#include "plugins/datasets/shared/list_images.h"

#include <algorithm>
#include <system_error>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/image_names.h"
#include "plugins/datasets/shared/list_folder.h"
#include "plugins/datasets/shared/listed_file.h"

namespace datasets {

namespace fs = std::filesystem;

void SkippedFiles::add(const std::string& path) {
  if (count == 0 || path < first) first = path;
  ++count;
}

bool SkippedFiles::leaves_out(const fs::path& path) {
  const std::string name = path.filename().native();
  if (name != "@eaDir") return name.front() == '.';
  ++thumbnail_folders;
  return true;
}

std::vector<std::string> list_images(const fs::path& folder, const fs::path& root, const std::string& expected,
                                     SkippedFiles& skipped) {
  std::vector<std::string> paths;
  visit_tree(folder, expected, [&](const fs::directory_entry& entry) {
    if (skipped.leaves_out(entry.path())) return false;
    if (!is_image_name(entry.path())) {
      std::error_code is_link_without_target;
      if (!entry.is_directory(is_link_without_target)) skipped.add(entry.path().lexically_relative(root).native());
    } else if (is_listed_file(entry, "an image")) {
      paths.push_back(entry.path().lexically_relative(root).native());
    }
    return true;
  });
  std::sort(paths.begin(), paths.end());
  return paths;
}

void warn_about(const SkippedFiles& skipped, const std::string& folder) {
  if (skipped.thumbnail_folders > 0) {
    tenon::log_info(folder + ": " + std::to_string(skipped.thumbnail_folders) +
                    (skipped.thumbnail_folders == 1 ? " folder" : " folders") + " of thumbnails (@eaDir) skipped");
  }
  if (skipped.count == 0) return;
  tenon::log_warning(folder + ": " + std::to_string(skipped.count) +
                     (skipped.count == 1 ? " file was skipped, " : " files were skipped, the first is ") +
                     skipped.first +
                     "; expected the extension of an image, such as .jpg or .png; convert images of other formats, or "
                     "remove the files");
}

}  // namespace datasets

#include "plugins/datasets/segmentation/image_masks.h"

#include <map>

#include <tenon/error.hpp>

#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/list_folder.h"
#include "plugins/datasets/shared/listed_file.h"

namespace segmentation {
namespace {

namespace fs = std::filesystem;

// Maps a relative path without its extension to the path with it, in byte order.
using Files = std::map<std::string, std::string>;

Files list_files(const fs::path& folder) {
  Files files;
  datasets::visit_tree(folder, "a folder of images or of masks", [&](const fs::directory_entry& entry) {
    if (entry.path().filename().native().front() == '.') return false;
    if (!datasets::is_listed_file(entry, "an image or a mask")) return true;
    const fs::path path = entry.path().lexically_relative(folder);
    const auto [place, is_new] = files.emplace(fs::path(path).replace_extension().native(), path.native());
    if (!is_new) {
      throw tenon::DataError(entry.path().native() + ": differs from " + (folder / place->second).native() +
                             " only in its extension; expected one file of this name; rename or remove one");
    }
    return true;
  });
  if (files.empty()) throw tenon::DataError(folder.native() + ": holds no file; expected images or masks");
  return files;
}

std::string path_in_cell(const tables::Csv& csv, size_t row, size_t column) {
  const std::string_view text = csv.cell(row, column);
  if (text.empty()) throw tenon::DataError(csv.place(row, column) + " is empty; expected the path of an image");
  return std::string(text);
}

}  // namespace

std::vector<ImageMask> list_image_masks(const fs::path& root, const std::string& images, const std::string& masks) {
  const Files image_files = list_files(root / images);
  const Files mask_files = list_files(root / masks);
  std::vector<ImageMask> pairs;
  for (const auto& [name, image] : image_files) {
    const auto mask = mask_files.find(name);
    if (mask == mask_files.end()) {
      throw tenon::DataError((root / images / image).native() + ": has no mask; expected " +
                             (root / masks / name).native() + ".png; list the existing pairs in a manifest");
    }
    pairs.push_back({image, (root / images / image).native(), (root / masks / mask->second).native()});
  }
  for (const auto& [name, mask] : mask_files) {
    if (!image_files.contains(name)) {
      throw tenon::DataError((root / masks / mask).native() + ": has no image; expected " +
                             (root / images / name).native() +
                             " with some extension; list the existing pairs in a manifest");
    }
  }
  return pairs;
}

std::vector<ImageMask> read_manifest(const fs::path& file, const std::string& images, const std::string& masks) {
  const tables::Csv csv(file.native());
  const size_t image_column = csv.column(images, "images");
  const size_t mask_column = csv.column(masks, "masks");
  const fs::path folder = file.parent_path();
  std::vector<ImageMask> pairs;
  for (size_t row = 0; row < csv.rows(); ++row) {
    const std::string image = path_in_cell(csv, row, image_column);
    const std::string mask = path_in_cell(csv, row, mask_column);
    pairs.push_back({image, (folder / image).native(), (folder / mask).native()});
  }
  return pairs;
}

}  // namespace segmentation

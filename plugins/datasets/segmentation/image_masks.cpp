#include "plugins/datasets/segmentation/image_masks.h"

#include <algorithm>
#include <map>
#include <system_error>

#include <tenon/error.hpp>

#include "framework/formats/unicode.h"
#include "plugins/content_hash.h"
#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/list_images.h"
#include "plugins/datasets/shared/listed_paths.h"
#include "plugins/datasets/shared/spread.h"
#include "plugins/regular_file.h"

namespace segmentation {
namespace {

namespace fs = std::filesystem;

// Maps a relative path without its extension to the path with it, in byte order. Letters with marks are composed, so
// that names from macOS equal those of other systems.
using Files = std::map<std::string, std::string>;

// `folder`: within `root`.
Files list_files(const fs::path& root, const std::string& folder, datasets::SkippedFiles& skipped) {
  Files files;
  const fs::path place = root / folder;
  datasets::SkippedFiles others;
  for (const std::string& path : datasets::list_images(place, place, "a folder of images or of masks", others)) {
    const auto [other, is_new] = files.emplace(formats::compose(fs::path(path).replace_extension().native()), path);
    if (!is_new) {
      throw tenon::DataError((place / path).native() + ": differs from " + (place / other->second).native() +
                             " only in its extension; expected one file of this name; rename or remove one");
    }
  }
  if (skipped.count == 0) skipped.first = (fs::path(folder) / others.first).native();
  skipped.count += others.count;
  return files;
}

// Reported after the skipped files, which may be the reason.
void require_files(const Files& files, const fs::path& folder) {
  if (files.empty())
    throw tenon::DataError(folder.native() +
                           ": holds no image; expected files that end in .jpg, .png or another known extension");
}

std::string path_in_cell(const tables::Csv& csv, size_t row, size_t column) {
  const std::string_view text = csv.cell(row, column);
  if (text.empty()) throw tenon::DataError(csv.place(row, column) + " is empty; expected the path of an image");
  return std::string(text);
}

}  // namespace

std::vector<ImageMask> list_image_masks(const fs::path& root, const std::string& images, const std::string& masks) {
  datasets::SkippedFiles skipped;
  const Files image_files = list_files(root, images, skipped);
  const Files mask_files = list_files(root, masks, skipped);
  datasets::warn_about(skipped, root.native());
  require_files(image_files, root / images);
  require_files(mask_files, root / masks);
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

std::vector<ImageMask> read_manifest(const fs::path& file, const std::string& images, const std::string& masks,
                                     const std::string& missing_files) {
  const tables::Csv csv(file.native());
  const size_t image_column = csv.column(images, "images");
  const size_t mask_column = csv.column(masks, "masks");
  const fs::path folder = file.parent_path();
  std::vector<ImageMask> pairs;
  datasets::ListedPaths listed(file.native());
  for (size_t row = 0; row < csv.rows(); ++row) {
    const std::string image = path_in_cell(csv, row, image_column);
    const std::string mask = path_in_cell(csv, row, mask_column);
    pairs.push_back({image, (folder / image).native(), (folder / mask).native()});
    listed.add(pairs.back().image_path, csv.place(row, image_column));
    listed.add(pairs.back().mask_path, csv.place(row, mask_column));
  }
  listed.check(missing_files);
  return pairs;
}

uint64_t hash_files(const std::vector<ImageMask>& pairs) {
  constexpr size_t kMostMasks = 1000;
  constexpr size_t kMostSizes = 100'000;  // a size may take a millisecond on a network file system
  components::ContentHash hash;
  std::error_code missing;
  for (size_t i = 0; i < pairs.size() && i < kMostSizes; ++i)
    for (const std::string& path : {pairs[i].image_path, pairs[i].mask_path})
      hash.add(static_cast<uint64_t>(fs::file_size(path, missing)));
  for (size_t k = 0; k < std::min(pairs.size(), kMostMasks); ++k) {
    try {
      const components::RegularFile mask(pairs[datasets::spread_index(k, pairs.size())].mask_path, "a mask");
      hash.add(mask, 0, mask.size());
    } catch (const tenon::DataError&) {
    }
  }
  return hash.value();
}

}  // namespace segmentation

// Images with masks. A mask gives every pixel a class.
#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <tenon/draft/images.hpp>
#include <tenon/error.hpp>
#include <tenon/plugin.hpp>

#include "framework/formats/content_hash.h"
#include "framework/formats/examine.h"
#include "framework/formats/regular_file.h"
#include "framework/formats/unicode.h"
#include "plugins/datasets/segmentation/masks.h"
#include "plugins/datasets/shared/csv.h"
#include "plugins/datasets/shared/find_files.h"
#include "plugins/datasets/shared/join_params.h"
#include "plugins/datasets/shared/list_images.h"
#include "plugins/datasets/shared/split.h"
#include "plugins/datasets/shared/turned_images.h"

namespace segmentation {
namespace {

struct ImageMask {
  std::string image;  // relative to the folder, or as written in the manifest
  std::string image_path;
  std::string mask_path;
};

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

// Lists the images of two folders within `root`, as datasets::list_images(). An image and its mask have the same
// relative path except for the extension. The pairs are sorted by the image's path in byte order. Logs how many files
// are no images. Throws tenon::DataError naming the file: an image without a mask, a mask without an image, two files
// of the same name, or a folder that cannot be read or has no image.
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

// Reads a CSV file with one row per pair, and keeps their order. Relative paths start from the file's folder. `images`
// and `masks` are the names of the columns. Throws tenon::DataError naming file, line and column. `missing_files`: as
// the parameter of that name (find_files.h).
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

// Of the sizes of all files, and of the contents of 1000 masks that are spread over all of them. A file that cannot be
// read is left out, because its sample reports it.
uint64_t hash_files(const std::vector<ImageMask>& pairs) {
  constexpr size_t kMostMasks = 1000;
  constexpr size_t kMostSizes = 100'000;  // a size may take a millisecond on a network file system
  formats::ContentHash hash;
  std::error_code missing;
  for (size_t i = 0; i < pairs.size() && i < kMostSizes; ++i)
    for (const std::string& path : {pairs[i].image_path, pairs[i].mask_path})
      hash.add(static_cast<uint64_t>(fs::file_size(path, missing)));
  for (size_t k = 0; k < std::min(pairs.size(), kMostMasks); ++k) {
    try {
      const formats::RegularFile mask(pairs[formats::spread_index(k, pairs.size())].mask_path, "a mask");
      hash.add(mask, 0, mask.size());
    } catch (const tenon::DataError&) {
    }
  }
  return hash.value();
}

class Segmentation final {
 public:
  struct Worker {
    tenon::draft::ImageWorker images;
    std::vector<uint8_t> classes;  // of the pixels of a mask
  };

  static std::vector<tenon::Param> schema() {
    const std::vector<tenon::Param> of_files = {
        tenon::required<tenon::Path>("path").doc("folder that contains the two folders below; or a manifest, a CSV "
                                                 "file with one row per image and paths relative to its folder"),
        tenon::param("images", "images").doc("folder of the images; or the manifest column with their paths"),
        tenon::param("masks", "masks")
            .doc(
                "folder of the masks, PNG files with the names of the images; or the manifest column with their paths"),
        datasets::ListedPaths::parameter(),
    };
    return datasets::join_params({of_files,
                                  MaskClasses::schema(),
                                  {datasets::unlabelled_parameter()},
                                  datasets::Split::schema(),
                                  tenon::draft::image_params()});
  }

  explicit Segmentation(const tenon::Params& params) : classes_(params), images_(params) {
    for (datasets::UnlabelledImage& image :
         datasets::list_unlabelled_images(params.texts("unlabelled"), params.text("images"))) {
      pairs_.push_back({std::move(image.name), std::move(image.path), ""});
    }
    has_masks_ = pairs_.empty();
    if (!has_masks_) return;
    const std::filesystem::path path = params.path("path");
    const std::string images = params.text("images");
    const std::string masks = params.text("masks");
    std::error_code refused;  // reported when the folders are listed
    const bool is_manifest = std::filesystem::is_regular_file(path, refused);
    pairs_ = is_manifest ? read_manifest(path, images, masks, params.text("missing_files"))
                         : list_image_masks(path, images, masks);
    const datasets::Split split(params);
    std::erase_if(pairs_, [&](const ImageMask& pair) { return !split.has(pair.image); });
    split.check_samples(pairs_.size(), path.native());
    examine(path.native());
  }

  std::vector<tenon::Field> fields() const {
    if (!has_masks_) return {images_.field("image", "the image")};
    const tenon::Field mask = {"mask", TENON_INT64, images_.extents(), "class of each pixel, or ignore_index",
                               static_cast<double>(classes_.ignore_index())};
    return {images_.field("image", "the image"), mask};
  }

  std::vector<tenon::ClassNames> class_names() const {
    if (!has_masks_) return {};
    return {{"mask", {}, static_cast<uint64_t>(classes_.count())}};
  }
  std::vector<tenon::Preprocessing> preprocessing() const { return {images_.preprocessing("image")}; }

  int64_t size() const { return static_cast<int64_t>(pairs_.size()); }
  uint64_t fingerprint() const { return hash_files(pairs_); }
  std::string sample_name(int64_t index) const { return pairs_[static_cast<size_t>(index)].image; }

  Worker open_worker(uint64_t, uint64_t) const { return {images_.open_worker(), {}}; }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const ImageMask& pair = pairs_[static_cast<size_t>(sample.index)];
    const tenon::draft::ImageFile image(pair.image_path);
    if (!has_masks_) {
      worker.images.write(image, sample.seed, sink, "image");
      return;
    }
    const tenon::draft::Pixels mask = read_mask(worker.images, pair);
    try {
      classes_.replace_numbers(mask, pair.mask_path, worker.classes);
    } catch (const tenon::DataError&) {
      // The mask of another image has wrong numbers, too. This reports its size.
      auto numbers =
          tenon::draft::ImageTarget::mask(mask.elements, TENON_UINT8, mask.height, mask.width, 0, pair.mask_path);
      worker.images.write(image, sample.seed, sink, "image", {&numbers});
      throw;
    }
    auto target = tenon::draft::ImageTarget::mask(worker.classes.data(), TENON_UINT8, mask.height, mask.width,
                                                  classes_.ignore_index(), pair.mask_path);
    const int orientation = worker.images.write(image, sample.seed, sink, "image", {&target}).orientation;
    target.put(sink, "mask");
    if (orientation > 1 && orientation != mask.orientation)
      turned_.warn(datasets::TurnedImages::print(pair.image_path, orientation));
  }

 private:
  static tenon::draft::Pixels read_mask(tenon::draft::ImageWorker& worker, const ImageMask& pair) {
    return worker.decode(tenon::draft::ImageFile(pair.mask_path), TENON_DECODE_MASK);
  }

  // Reads some of the pairs. `place`: for messages.
  void examine(const std::string& place) const {
    tenon::draft::ImageWorker worker = images_.open_worker();
    const auto read = [&](size_t i) -> std::optional<tenon::draft::Pixels> {
      try {
        return read_mask(worker, pairs_[i]);
      } catch (const tenon::Error& error) {
        if (error.status() != TENON_BAD_DATA) throw;
        return std::nullopt;  // reported when the sample is read
      }
    };
    classes_.examine(pairs_.size(), read, place);
    formats::Finding turned;
    const size_t examined = images_.examine(
        pairs_.size(), [&](size_t i) { return std::make_unique<tenon::draft::ImageFile>(pairs_[i].image_path); },
        [&](size_t i, int orientation) {
          const auto mask = read(i);
          if (mask && mask->orientation != orientation)
            turned.add(datasets::TurnedImages::print(pairs_[i].image_path, orientation));
        });
    turned_.warn(turned, examined);
  }

  MaskClasses classes_;
  tenon::draft::ImagePipeline images_;
  datasets::TurnedImages turned_{"mask"};
  std::vector<ImageMask> pairs_;
  bool has_masks_ = true;  // false: the images are unlabelled, and their mask_path is empty
};

}  // namespace

}  // namespace segmentation

TENON_PLUGIN("segmentation", "0.1.0", "Apache-2.0", "Images with masks, decoded and transformed together on the fly.",
             tenon::dataset<segmentation::Segmentation>("segmentation", "images with a class per pixel"))

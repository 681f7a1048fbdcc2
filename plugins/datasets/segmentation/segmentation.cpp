// Images with masks. A mask gives every pixel a class.
#include <algorithm>
#include <filesystem>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <tenon/plugin.hpp>

#include "plugins/datasets/segmentation/image_masks.h"
#include "plugins/datasets/segmentation/mask_classes.h"
#include "plugins/datasets/segmentation/mask_file.h"
#include "plugins/datasets/shared/finding.h"
#include "plugins/datasets/shared/image_reader.h"
#include "plugins/datasets/shared/listed_paths.h"
#include "plugins/datasets/shared/split.h"
#include "plugins/datasets/shared/turned_images.h"
#include "plugins/datasets/shared/unlabelled_images.h"

namespace segmentation {
namespace {

class Segmentation final {
 public:
  struct Worker {
    datasets::ImageReader::Worker image;
    MaskBuffers mask;
  };

  static std::vector<tenon::Param> schema() {
    std::vector<tenon::Param> params = {
        tenon::required<tenon::Path>("path").doc("folder that contains the two folders below; or a manifest, a CSV "
                                                 "file with one row per image and paths relative to its folder"),
        tenon::param("images", "images").doc("folder of the images; or the manifest column with their paths"),
        tenon::param("masks", "masks")
            .doc(
                "folder of the masks, PNG files with the names of the images; or the manifest column with their paths"),
    };
    params.push_back(datasets::ListedPaths::parameter());
    for (tenon::Param& param : MaskClasses::schema()) params.push_back(std::move(param));
    params.push_back(datasets::unlabelled_parameter());
    for (tenon::Param& param : datasets::Split::schema()) params.push_back(std::move(param));
    for (tenon::Param& param : datasets::ImageReader::schema()) params.push_back(std::move(param));
    return params;
  }

  explicit Segmentation(const tenon::Params& params) : classes_(params), reader_(params) {
    for (datasets::UnlabelledImage& image :
         datasets::list_unlabelled_images(params.texts("unlabelled"), params.text("images"))) {
      pairs_.push_back({std::move(image.name), std::move(image.path), ""});
    }
    has_masks_ = pairs_.empty();
    if (!has_masks_) {
      reader_.expect_images(pairs_.size());
      return;
    }
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
    reader_.expect_images(pairs_.size());
    examine(path.native());
  }

  std::vector<tenon::Field> fields() const {
    if (!has_masks_) return {reader_.field("image", "the image")};
    const tenon::Field mask = {"mask", TENON_INT64, reader_.extents(), "class of each pixel, or ignore_index",
                               static_cast<double>(classes_.ignore_index())};
    return {reader_.field("image", "the image"), mask};
  }

  std::vector<tenon::ClassNames> class_names() const {
    if (!has_masks_) return {};
    return {{"mask", {}, static_cast<uint64_t>(classes_.count())}};
  }
  std::vector<tenon::Preprocessing> preprocessing() const { return {reader_.preprocessing("image")}; }

  int64_t size() const { return static_cast<int64_t>(pairs_.size()); }
  uint64_t fingerprint() const { return hash_files(pairs_); }
  std::string sample_name(int64_t index) const { return pairs_[static_cast<size_t>(index)].image; }

  Worker open_worker(uint64_t, uint64_t) const { return {reader_.open_worker(), {}}; }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const ImageMask& pair = pairs_[static_cast<size_t>(sample.index)];
    const datasets::LooseImage image(pair.image_path);
    const auto number = static_cast<size_t>(sample.index);
    const cv::Size size = reader_.write(worker.image, number, image, sample.seed, sink, "image");
    if (!has_masks_) return;
    const int orientation = worker.image.orientation;
    cv::Mat& mask = read_mask(pair.mask_path, reader_.limits(), worker.mask);
    check_size(mask.size(), size, pair);
    if (orientation > 1 && orientation != worker.mask.orientation)
      turned_.warn(datasets::TurnedImages::print(pair.image_path, orientation));
    classes_.replace_numbers(mask, pair.mask_path);
    const images::SampledTransforms sampled = reader_.draw(size, sample.seed, image);
    const cv::Mat moved = sampled.move_mask(mask, classes_.ignore_index(), worker.image.buffers);
    int64_t* target = sink.slot<int64_t>("mask", {moved.rows, moved.cols});
    for (int y = 0; y < moved.rows; ++y, target += moved.cols) {
      std::copy_n(moved.ptr<uint8_t>(y), moved.cols, target);
    }
  }

 private:
  // Reads some of the pairs. `place`: for messages.
  void examine(const std::string& place) const {
    MaskBuffers buffers;
    const auto read = [&](size_t i) -> const cv::Mat* {
      try {
        return &read_mask(pairs_[i].mask_path, reader_.limits(), buffers);
      } catch (const tenon::DataError&) {
        return nullptr;  // reported when the sample is read
      }
    };
    classes_.examine(pairs_.size(), read, place);
    const auto examined = reader_.examine(
        pairs_.size(), [&](size_t i) { return std::make_unique<datasets::LooseImage>(pairs_[i].image_path); });
    datasets::Finding turned;
    for (const auto& [number, orientation] : examined.turned)
      if (read(number) && buffers.orientation != orientation)
        turned.add(datasets::TurnedImages::print(pairs_[number].image_path, orientation));
    turned_.warn(turned, examined.count);
  }

  void check_size(cv::Size mask, cv::Size image, const ImageMask& pair) const {
    if (mask == image) return;
    const auto describe = [](cv::Size size) {
      return std::to_string(size.width) + " x " + std::to_string(size.height);
    };
    const int orientation = reader_.read_orientation(datasets::LooseImage(pair.image_path));
    const std::string turned =
        orientation == 1 ? ""
                         : " after it was turned upright by its EXIF orientation " + std::to_string(orientation) +
                               "; if the mask fits the pixels as stored, remove the orientation: exiftool "
                               "-Orientation= -overwrite_original FILE";
    throw tenon::DataError(pair.mask_path + ": has " + describe(mask) + " pixels; expected " + describe(image) +
                           ", as " + pair.image_path + " has" + turned);
  }

  MaskClasses classes_;
  datasets::ImageReader reader_;
  datasets::TurnedImages turned_{"mask"};
  std::vector<ImageMask> pairs_;
  bool has_masks_ = true;  // false: the images are unlabelled, and their mask_path is empty
};

}  // namespace
}  // namespace segmentation

TENON_PLUGIN("segmentation", "0.1.0", "Apache-2.0", "Images with masks, decoded and transformed together on the fly.",
             tenon::dataset<segmentation::Segmentation>("segmentation", "images with a class per pixel"))

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
#include "plugins/datasets/segmentation/mask_file.h"
#include "plugins/datasets/shared/image_reader.h"
#include "plugins/datasets/shared/split.h"
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
        tenon::required<int64_t>("classes")
            .range("[1, 256]")
            .doc("number of classes; a mask holds numbers from 0 to classes - 1, and ignore_index"),
        tenon::param("ignore_index", 255)
            .range("[0, 255]")
            .doc("number in the masks that means no class, also used for pixels outside the image; set the loss and "
                 "the metric to the same ignore_index"),
    };
    params.push_back(datasets::unlabelled_parameter());
    for (tenon::Param& param : datasets::Split::schema()) params.push_back(std::move(param));
    for (tenon::Param& param : datasets::ImageReader::schema()) params.push_back(std::move(param));
    return params;
  }

  explicit Segmentation(const tenon::Params& params)
      : classes_(params.integer("classes")),
        ignore_index_(static_cast<int>(params.integer("ignore_index"))),
        reader_(params) {
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
    pairs_ = is_manifest ? read_manifest(path, images, masks) : list_image_masks(path, images, masks);
    const datasets::Split split(params);
    std::erase_if(pairs_, [&](const ImageMask& pair) { return !split.has(pair.image); });
    split.check_samples(pairs_.size(), path.native());
    reader_.expect_images(pairs_.size());
  }

  std::vector<tenon::Field> fields() const {
    if (!has_masks_) return {reader_.field("image", "the image")};
    const tenon::Field mask = {"mask", TENON_INT64, reader_.extents(), "class of each pixel, or ignore_index",
                               static_cast<double>(ignore_index_)};
    return {reader_.field("image", "the image"), mask};
  }

  std::vector<tenon::ClassNames> class_names() const {
    if (!has_masks_) return {};
    return {{"mask", {}, static_cast<uint64_t>(classes_)}};
  }
  std::vector<tenon::Preprocessing> preprocessing() const { return {reader_.preprocessing("image")}; }

  int64_t size() const { return static_cast<int64_t>(pairs_.size()); }
  std::string sample_name(int64_t index) const { return pairs_[static_cast<size_t>(index)].image; }

  Worker open_worker(uint64_t, uint64_t) const { return {reader_.open_worker(), {}}; }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const ImageMask& pair = pairs_[static_cast<size_t>(sample.index)];
    const datasets::LooseImage image(pair.image_path);
    const auto number = static_cast<size_t>(sample.index);
    const cv::Size size = reader_.write(worker.image, number, image, sample.seed, sink, "image");
    if (!has_masks_) return;
    const cv::Mat& mask = read_mask(pair.mask_path, reader_.limits(), worker.mask);
    check_size(mask.size(), size, pair);
    check_classes(mask, pair.mask_path);
    const images::SampledTransforms sampled = reader_.draw(size, sample.seed, image);
    const cv::Mat moved = sampled.move_mask(mask, ignore_index_, worker.image.buffers);
    int64_t* target = sink.slot<int64_t>("mask", {moved.rows, moved.cols});
    for (int y = 0; y < moved.rows; ++y, target += moved.cols) {
      std::copy_n(moved.ptr<uint8_t>(y), moved.cols, target);
    }
  }

 private:
  static void check_size(cv::Size mask, cv::Size image, const ImageMask& pair) {
    if (mask == image) return;
    const auto describe = [](cv::Size size) {
      return std::to_string(size.width) + " x " + std::to_string(size.height);
    };
    throw tenon::DataError(pair.mask_path + ": has " + describe(mask) + " pixels; expected " + describe(image) +
                           ", as " + pair.image_path + " has");
  }

  bool is_allowed(uint8_t number) const { return number < classes_ || number == ignore_index_; }

  void check_classes(const cv::Mat& mask, const std::string& path) const {
    for (int y = 0; y < mask.rows; ++y) {
      const uint8_t* row = mask.ptr<uint8_t>(y);
      for (int x = 0; x < mask.cols; ++x) {
        if (is_allowed(row[x])) continue;
        throw tenon::DataError(path + ": the pixel in column " + std::to_string(x) + " of row " + std::to_string(y) +
                               " (from 0) is " + std::to_string(row[x]) + "; expected a class from 0 to " +
                               std::to_string(classes_ - 1) + ", or " + std::to_string(ignore_index_) +
                               " to ignore it; correct the mask or the parameters classes and ignore_index");
      }
    }
  }

  int64_t classes_;
  int ignore_index_;
  datasets::ImageReader reader_;
  std::vector<ImageMask> pairs_;
  bool has_masks_ = true;  // false: the images are unlabelled, and their mask_path is empty
};

}  // namespace
}  // namespace segmentation

TENON_PLUGIN("segmentation", "0.1.0", "Apache-2.0", "Images with masks, decoded and transformed together on the fly.",
             tenon::dataset<segmentation::Segmentation>("segmentation", "images with a class per pixel"))

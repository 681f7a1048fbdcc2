// Images in folders, a folder for each class: the layout of ImageNet and of most collections people have.
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <opencv2/imgproc.hpp>
#include <tenon/plugin.hpp>

#include "plugins/datasets/image_folder/crop_window.h"
#include "plugins/datasets/image_folder/decode_image.h"
#include "plugins/datasets/image_folder/image_files.h"
#include "plugins/datasets/image_folder/pixel_planes.h"

namespace image_folder {
namespace {

// The statistics of ImageNet that most published weights were trained with.
const std::vector<double> kImageNetMean = {0.485, 0.456, 0.406};
const std::vector<double> kImageNetStd = {0.229, 0.224, 0.225};

std::vector<double> read_three(const tenon::Params& params, const char* name) {
  std::vector<double> numbers = params.numbers(name);
  if (numbers.size() != 3) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, std::string("parameter \"") + name + "\" has " +
                                                   std::to_string(numbers.size()) +
                                                   " numbers; expected 3, for red, green and blue");
  }
  return numbers;
}

CropOptions read_crop(const tenon::Params& params) {
  const std::string crop = params.text("crop");
  CropOptions options = {Crop::center, params.integer("resize"), params.integer("image_size")};
  if (crop == "random") options.crop = Crop::random;
  if (crop == "random_resized") options.crop = Crop::random_resized;
  if (options.crop != Crop::random_resized && options.resize < options.image_size) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"resize\" is " + std::to_string(options.resize) +
                                                   "; expected at least image_size, which is " +
                                                   std::to_string(options.image_size));
  }
  return options;
}

// The images of the split. Labels come from all classes, so that they are the same in each split.
std::vector<ImageFile> select_images(std::vector<ImageFile> images, const tenon::Params& params) {
  const std::string split = params.text("split");
  if (split == "all") return images;
  const double fraction = params.number("validation_fraction");
  std::erase_if(images, [&](const ImageFile& image) {
    return is_validation_image(image.path, fraction) != (split == "validation");
  });
  if (images.empty()) {
    throw tenon::DataError(params.path("path") + ": none of its images falls into the split \"" + split +
                           "\"; change validation_fraction, or add images");
  }
  return images;
}

class ImageFolder final {
 public:
  // What a thread reuses from image to image.
  struct Worker {
    std::vector<uint8_t> file;
    cv::Mat decoded;
    cv::Mat scaled;
  };

  static std::vector<tenon::Param> schema() {
    return {
        tenon::required<tenon::Path>("path").doc(
            "folder with one folder for each class; labels follow their names' byte order"),
        tenon::param("split", "all")
            .choices({"all", "train", "validation"})
            .doc("which images: all, or one of two parts that a single folder is divided into by the images' paths"),
        tenon::param("validation_fraction", 0.1)
            .range("(0, 1)")
            .doc("share of the images in the split validation; the split train has the others"),
        tenon::param("image_size", 224).range("[1, 16384]").doc("side of the square sample, in pixels"),
        tenon::param("resize", 256)
            .range("[1, 65536]")
            .doc("length to which the shorter side is scaled before cropping, in pixels; not for random_resized"),
        tenon::param("crop", "center")
            .choices({"center", "random", "random_resized"})
            .doc("how the square is cut out; random_resized takes 8 to 100 % of the area at a ratio of 3/4 to 4/3"),
        tenon::param("flip", 0.0).range("[0, 1]").doc("probability of mirroring left to right"),
        tenon::param("mean", kImageNetMean).doc("subtracted from red, green and blue in [0, 1]; by default ImageNet's"),
        tenon::param("std", kImageNetStd).range("(0, inf)").doc("then divided by; by default ImageNet's"),
    };
  }

  explicit ImageFolder(const tenon::Params& params)
      : root_(params.path("path")),
        crop_(read_crop(params)),
        flip_(params.number("flip")),
        planes_(read_three(params, "mean"), read_three(params, "std")) {
    load_decoders();
    images_ = select_images(list_image_files(root_).images, params);
    cv::setNumThreads(1);  // the loader's workers are the threads
  }

  std::vector<tenon::Field> fields() const {
    return {{"image", TENON_FLOAT32, {3, crop_.image_size, crop_.image_size}, "red, green and blue, normalised"},
            {"label", TENON_INT64, {}, "the class, from 0"}};
  }

  int64_t size() const { return static_cast<int64_t>(images_.size()); }

  Worker open_worker(uint64_t, uint64_t) const {
    cv::setNumThreads(1);  // another library may have raised it since
    return {};
  }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const ImageFile& image = images_[static_cast<size_t>(sample.index)];
    read_image(root_ + '/' + image.path, worker.file, worker.decoded);

    tenon::Random random(sample.seed);
    const cv::Rect window = choose_window(worker.decoded.size(), crop_, random);
    const Mirror mirror = random.chance(flip_) ? Mirror::yes : Mirror::no;
    scale(worker.decoded(window), worker.scaled);
    planes_.write(worker.scaled, mirror, sink.slot<float>("image"));
    sink.put<int64_t>("label", image.label);
  }

 private:
  void scale(const cv::Mat& window, cv::Mat& scaled) const {
    const int side = static_cast<int>(crop_.image_size);
    // Averaging over the area is what keeps fine patterns from aliasing when an image shrinks.
    const bool shrinks = window.cols >= side && window.rows >= side;
    cv::resize(window, scaled, {side, side}, 0, 0, shrinks ? cv::INTER_AREA : cv::INTER_LINEAR);
  }

  std::string root_;
  CropOptions crop_;
  double flip_;
  PixelPlanes planes_;
  std::vector<ImageFile> images_;
};

}  // namespace
}  // namespace image_folder

TENON_PLUGIN("image_folder", "0.1.0", "Apache-2.0", "Images in folders, read with OpenCV.",
             tenon::dataset<image_folder::ImageFolder>("image_folder", "images in one folder per class"))

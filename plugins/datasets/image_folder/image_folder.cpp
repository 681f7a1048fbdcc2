// Images in folders, a folder for each class: the layout of ImageNet and of most collections people have.
#include <string>
#include <utility>
#include <vector>

#include <opencv2/core.hpp>
#include <tenon/plugin.hpp>

#include "plugins/datasets/image_folder/image_files.h"
#include "plugins/images/decode/decode_image.h"
#include "plugins/images/decode/read_file.h"
#include "plugins/images/transforms/transform_chain.h"

namespace image_folder {
namespace {

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
    images::Decoder decoder;
    images::TransformBuffers buffers;
  };

  static std::vector<tenon::Param> schema() {
    const std::vector<std::string> transforms = {"resize(256)", "center_crop(224)", "normalize()"};
    return {
        tenon::required<tenon::Path>("path").doc(
            "folder with one folder for each class; labels follow their names' byte order"),
        tenon::param("split", "all")
            .choices({"all", "train", "validation"})
            .doc("which images: all, or one of two parts that a single folder is divided into by the images' paths"),
        tenon::param("validation_fraction", 0.1)
            .range("(0, 1)")
            .doc("share of the images in the split validation; the split train has the others"),
        tenon::param("transforms", transforms)
            .doc("what is done to each image, in this order, see docs/transforms.md; the default is for validation"),
        tenon::param("scaled_decoding", true)
            .doc("whether a JPEG is decoded at 1/2, 1/4 or 1/8 where it is shrunk that far anyway: faster, with "
                 "slightly "
                 "other pixels"),
        tenon::param("max_pixels", images::Limits().max_pixels)
            .range("[1, inf)")
            .doc("largest width x height of an image that is decoded; a larger one ends the run"),
    };
  }

  explicit ImageFolder(const tenon::Params& params)
      : root_(params.path("path")),
        chain_(params.texts("transforms")),
        scaling_(params.boolean("scaled_decoding") ? images::Scaling::dct : images::Scaling::none),
        limits_{params.integer("max_pixels")} {
    images::load_decoders();
    images_ = select_images(list_image_files(root_).images, params);
    cv::setNumThreads(1);  // the loader's workers are the threads
  }

  std::vector<tenon::Field> fields() const {
    const tenon::Field label = {"label", TENON_INT64, {}, "the class, from 0"};
    if (chain_.normalizes())
      return {{"image", TENON_FLOAT32, chain_.shape(), "red, green and blue, normalised"}, label};
    return {{"image", TENON_UINT8, chain_.shape(), "red, green and blue, 0 to 255"}, label};
  }

  int64_t size() const { return static_cast<int64_t>(images_.size()); }

  Worker open_worker(uint64_t, uint64_t) const {
    cv::setNumThreads(1);  // another library may have raised it since
    return {};
  }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    const ImageFile& image = images_[static_cast<size_t>(sample.index)];
    const std::string path = root_ + '/' + image.path;
    images::read_file(path, worker.file);
    const images::ImageInfo info = images::read_image_info(worker.file, path, limits_);
    const images::DrawnTransforms drawn = draw(info.size, sample.seed, path);
    const images::DecodedWindow decoded =
        images::decode_window(worker.file, info, path, drawn.window(), drawn.at_least(), worker.decoder, scaling_);
    const int64_t height = drawn.size().height;
    const int64_t width = drawn.size().width;
    if (chain_.normalizes()) {
      drawn.write(decoded.image, decoded.place, worker.buffers, sink.slot<float>("image", {3, height, width}));
    } else {
      drawn.write(decoded.image, decoded.place, worker.buffers, sink.slot<uint8_t>("image", {height, width, 3}));
    }
    sink.put<int64_t>("label", image.label);
  }

 private:
  images::DrawnTransforms draw(cv::Size size, uint64_t seed, const std::string& path) const {
    try {
      return chain_.draw(size, seed);
    } catch (const tenon::DataError& error) {
      throw tenon::DataError(path + ": " + error.what());
    }
  }

  std::string root_;
  images::TransformChain chain_;
  images::Scaling scaling_;
  images::Limits limits_;
  std::vector<ImageFile> images_;
};

}  // namespace
}  // namespace image_folder

TENON_PLUGIN("image_folder", "0.1.0", "Apache-2.0", "Images in folders, decoded and transformed on the fly.",
             tenon::dataset<image_folder::ImageFolder>("image_folder", "images in one folder per class"))

// Grey images and labels in IDX files, the format of MNIST.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/idx/idx_file.h"

namespace idx {
namespace {

constexpr float kWhite = 255;

class Idx final {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::required<tenon::Path>("images").doc("IDX file of the images, such as train-images-idx3-ubyte"),
        tenon::param("labels", tenon::Path{""})
            .doc("IDX file of the labels, such as train-labels-idx1-ubyte; empty: samples have no label"),
        tenon::param("normalize", true)
            .doc("true: images are (level / 255 - mean) / std in float32; false: the levels are unchanged"),
        tenon::param("mean", 0.0).doc("mean of all pixels in [0, 1], used by normalize; 0.1307 for MNIST"),
        tenon::param("std", 1.0)
            .range("(0, inf)")
            .doc("standard deviation of all pixels, used by normalize; 0.3081 for MNIST"),
    };
  }

  explicit Idx(const tenon::Params& params)
      : images_(params.path("images"), 3, "images"),
        normalizes_(params.boolean("normalize")),
        factor_(static_cast<float>(1 / (kWhite * params.number("std")))),
        addend_(static_cast<float>(-params.number("mean") / params.number("std"))) {
    const std::string path = params.path("labels");
    if (path.empty()) return;
    labels_.emplace(path, 1, "labels");
    if (labels_->shape().front() == size()) return;
    throw tenon::DataError(path + ": holds " + std::to_string(labels_->shape().front()) + " labels; expected " +
                           std::to_string(size()) + ", one for each image of " + params.path("images"));
  }

  std::vector<tenon::Field> fields() const {
    const std::vector<int64_t> shape = {1, images_.shape()[1], images_.shape()[2]};
    std::vector<tenon::Field> fields;
    if (normalizes_) {
      fields.push_back({"image", TENON_FLOAT32, shape, "brightness, normalised"});
    } else {
      fields.push_back({"image", TENON_UINT8, shape, "brightness, 0 to 255"});
    }
    if (labels_) fields.push_back({"label", TENON_INT64, {}, "the class, from 0"});
    return fields;
  }

  int64_t size() const { return images_.shape().front(); }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    const std::span<const uint8_t> levels = images_.item(sample.index);
    if (normalizes_) {
      std::transform(levels.begin(), levels.end(), sink.slot<float>("image"),
                     [this](uint8_t level) { return static_cast<float>(level) * factor_ + addend_; });
    } else {
      std::copy(levels.begin(), levels.end(), sink.slot<uint8_t>("image"));
    }
    if (labels_) sink.put("label", static_cast<int64_t>(labels_->item(sample.index).front()));
  }

 private:
  IdxFile images_;
  std::optional<IdxFile> labels_;
  bool normalizes_;
  float factor_;
  float addend_;
};

}  // namespace
}  // namespace idx

TENON_PLUGIN("idx", "0.1.0", "Apache-2.0", "Images and labels in MNIST's file format, mapped into memory.",
             tenon::dataset<idx::Idx>("idx", "grey images and labels in IDX files, the format of MNIST"))

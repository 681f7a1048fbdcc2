// Grey images and labels in IDX files, the format of MNIST.
#include <algorithm>
#include <charconv>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/idx/idx_file.h"

namespace idx {
namespace {

constexpr float kWhite = 255;

std::string format_number(double number) {
  char text[32];
  return {text, std::to_chars(text, text + sizeof text, number).ptr};
}

class Idx final {
 public:
  struct Worker {
    std::vector<uint8_t> levels;
  };

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
        steps_(R"([{"name": "normalize", "divide_by": 255, "mean": )" + format_number(params.number("mean")) +
               R"(, "std": )" + format_number(params.number("std")) + "}]"),
        factor_(static_cast<float>(1 / (kWhite * params.number("std")))),
        addend_(static_cast<float>(-params.number("mean") / params.number("std"))) {
    const std::string path = params.path("labels");
    if (path.empty()) return;
    const IdxFile labels(path, 1, "labels");
    labels_ = labels.read_all();
    if (labels.shape().front() == size()) return;
    throw tenon::DataError(path + ": holds " + std::to_string(labels.shape().front()) + " labels; expected " +
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
    if (!labels_.empty()) fields.push_back({"label", TENON_INT64, {}, "the class, from 0"});
    return fields;
  }

  // The file does not say how many classes there are.
  std::vector<tenon::ClassNames> class_names() const {
    if (labels_.empty()) return {};
    return {{"label", {}, uint64_t{*std::max_element(labels_.begin(), labels_.end())} + 1}};
  }

  std::vector<tenon::Preprocessing> preprocessing() const { return {{"image", normalizes_ ? steps_ : "[]"}}; }

  int64_t size() const { return images_.shape().front(); }

  Worker open_worker(uint64_t, uint64_t) const { return {}; }

  void get(Worker& worker, const tenon::Sample& sample, const tenon::Sink& sink) const {
    std::vector<uint8_t>& levels = worker.levels;
    images_.read(sample.index, levels);
    if (normalizes_) {
      std::transform(levels.begin(), levels.end(), sink.slot<float>("image"),
                     [this](uint8_t level) { return static_cast<float>(level) * factor_ + addend_; });
    } else {
      std::copy(levels.begin(), levels.end(), sink.slot<uint8_t>("image"));
    }
    if (!labels_.empty()) sink.put("label", int64_t{labels_[static_cast<size_t>(sample.index)]});
  }

 private:
  IdxFile images_;
  std::vector<uint8_t> labels_;  // none: samples have no label
  bool normalizes_;
  std::string steps_;  // of normalized images
  float factor_;
  float addend_;
};

}  // namespace
}  // namespace idx

TENON_PLUGIN("idx", "0.1.0", "Apache-2.0", "Images and labels in MNIST's file format.",
             tenon::dataset<idx::Idx>("idx", "grey images and labels in IDX files, the format of MNIST"))

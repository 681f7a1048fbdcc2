// The model: an anchor-free detector of one stage (Zhou et al., "Objects as points", arXiv:1904.07850).
#pragma once

#include <string>
#include <vector>

#include <tenon/plugin.hpp>

class CentreNet final {
 public:
  static constexpr int64_t kStride = 4;  // pixels of the image per cell of the outputs

  static std::vector<tenon::Param> schema() {
    return {tenon::param("classes", 3).range("[1, inf)").doc("number of classes").counts_classes(),
            tenon::param("width", 32).range("[1, inf)").doc("channels of the cells")};
  }

  explicit CentreNet(const tenon::Params& params)
      : classes_(params.integer("classes")), width_(params.integer("width")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("image", "N,3,H,W", TENON_ANY_FLOAT),
            tenon::output("heat", "N," + std::to_string(classes_) + ",Y,X", TENON_ANY_FLOAT,
                          "logits: is the centre of an object of this class in the cell?"),
            tenon::output("sides", "N,4,Y,X", TENON_ANY_FLOAT,
                          "pixels from the middle of the cell to the left, top, right and bottom side of the object")};
  }

  void build(const tenon::Builder& builder) {
    const auto add = [&](const std::string& name, int64_t inputs, int64_t outputs, int64_t stride, int64_t dilation) {
      tenon::Conv2dOptions options;
      options.stride = stride;
      options.dilation = options.padding = dilation;
      options.has_bias = false;
      layers_.push_back({tenon::Conv2d(builder, name + ".conv", inputs, outputs, 3, options),
                         tenon::BatchNorm(builder, name + ".norm", outputs)});
    };
    add("stem.0", 3, width_ / 2, 2, 1);
    add("stem.1", width_ / 2, width_, 2, 1);
    for (const int64_t dilation : {1, 2, 4}) add("body." + std::to_string(dilation), width_, width_, 1, dilation);
    tenon::Conv2dOptions options;
    sides_ = tenon::Conv2d(builder, "sides", width_, 4, 1, options);
    // At first each class has a probability of 0.1 in each cell.
    options.bias_init = tenon::init::constant(-2.19);
    heat_ = tenon::Conv2d(builder, "heat", width_, classes_, 1, options);
  }

  std::vector<tenon::Tensor> forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    tenon::Tensor cells = inputs["image"];
    for (const Layer& layer : layers_) cells = relu(layer.norm(layer.conv(cells)));
    return {heat_(cells), softplus(sides_(cells)) * static_cast<double>(kStride)};
  }

 private:
  struct Layer {
    tenon::Conv2d conv;
    tenon::BatchNorm norm;
  };

  int64_t classes_;
  int64_t width_;
  std::vector<Layer> layers_;
  tenon::Conv2d heat_, sides_;
};

// The model: an anchor-free detector of one stage (Zhou et al., "Objects as points", arXiv:1904.07850).
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include <tenon/draft/results.hpp>
#include <tenon/plugin.hpp>

class CentreNet final {
 public:
  static constexpr int64_t kStride = 4;  // pixels of the image per cell of the outputs

  static std::vector<tenon::Param> schema() {
    return {tenon::param("classes", 3).range("[1, inf)").doc("number of classes").counts_classes(),
            tenon::param("width", 32).range("[1, inf)").doc("channels of the cells"),
            tenon::param("most", 20).range("[1, inf)").doc("most objects of an image"),
            tenon::param("least_score", 0.1).range("[0, 1]").doc("least probability of an object")};
  }

  explicit CentreNet(const tenon::Params& params)
      : classes_(params.integer("classes")),
        width_(params.integer("width")),
        most_(params.integer("most")),
        least_score_(params.number("least_score")) {}

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

  // What predictions, pages and the metric get in place of the outputs.
  std::vector<tenon::draft::Result> results() const {
    return {tenon::draft::box_list("found_boxes", "image", "found_classes", "left, top, right and bottom in pixels"),
            tenon::draft::list("found_classes"), tenon::draft::list("scores", "probabilities, in descending order")};
  }

  // Takes the cells with the highest probabilities, if these are higher than those of their neighbours.
  std::vector<tenon::draft::ResultValue> compute_results(const tenon::Frame&,
                                                         const std::vector<tenon::Tensor>& outputs) const {
    const tenon::Tensor heat = to_dtype(outputs[0], TENON_FLOAT32), sides = to_dtype(outputs[1], TENON_FLOAT32);
    const std::vector<int64_t> extents = heat.shape();
    const int64_t cells = extents[2] * extents[3], columns = extents[3];
    // Without the number of images, which an exported model would keep as a constant.
    const tenon::Tensor is_peak = to_dtype(eq(max_pool2d(heat, 3, 1, 1), heat), TENON_FLOAT32);
    const tenon::Tensor scores = flatten(sigmoid(heat) * is_peak, 1);
    const tenon::TopK top = topk(scores, std::min(most_, extents[1] * cells));
    const tenon::Tensor place = to_dtype(top.indices, TENON_FLOAT32);  // exact below 2^24
    const tenon::Tensor kind = floor(place / static_cast<double>(cells));
    const tenon::Tensor cell = place - kind * static_cast<double>(cells);
    const tenon::Tensor row = floor(cell / static_cast<double>(columns));
    const tenon::Tensor x = (cell - row * static_cast<double>(columns) + 0.5) * static_cast<double>(kStride);
    const tenon::Tensor y = (row + 0.5) * static_cast<double>(kStride);
    const tenon::Tensor of_cell =
        gather(flatten(sides, 2), 2, expand(unsqueeze(to_dtype(cell, TENON_INT64), 1), {-1, 4, -1}));
    const auto side = [&](int64_t i) { return select(of_cell, 1, i); };
    const tenon::Tensor boxes = tenon::stack({x - side(0), y - side(1), x + side(2), y + side(3)}, 2);
    const tenon::Tensor count = sum(to_dtype(ge(top.values, least_score_), TENON_INT64), {1});
    return {{boxes, count}, {to_dtype(kind, TENON_INT64), count}, {top.values, count}};
  }

 private:
  struct Layer {
    tenon::Conv2d conv;
    tenon::BatchNorm norm;
  };

  int64_t classes_;
  int64_t width_;
  int64_t most_;
  double least_score_;
  std::vector<Layer> layers_;
  tenon::Conv2d heat_, sides_;
};

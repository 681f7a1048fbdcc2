// Residual networks: He, Zhang, Ren and Sun, "Deep Residual Learning for Image Recognition", arXiv:1512.03385. Names
// and structure are those of torchvision, so that torchvision's weights load. A bottleneck block therefore has its
// stride in the 3 x 3 convolution, and not in the first 1 x 1 convolution as in the paper.
#include <tenon/checkpointing.hpp>
#include <tenon/plugin.hpp>

#include "plugins/models/layers.h"
#include "plugins/models/params.h"

namespace {

using tenon::Builder;
using tenon::Frame;
using tenon::Tensor;

// No graph node saves the output of batch normalisation, so the network's largest tensors need not exist twice.
void relu_in_place(const Tensor& x) {
  static const tenon::Op relu("aten::relu_");
  x.checked_frame().call(relu, {x});
}

// A convolution and a batch normalisation, which replaces the bias.
class Convolution {
 public:
  struct Shape {
    int64_t from, to, kernel, stride = 1;
  };

  Convolution(const Builder& builder, const std::string& name, const std::string& norm_name, const Shape& shape,
              double norm_weight = 1) {
    tenon::Conv2dOptions options{shape.stride, shape.kernel / 2, 1, 1, /*has_bias=*/false};
    options.init = tenon::components::init_by_fan_out(shape.to, shape.kernel);
    convolution_ = tenon::Conv2d(builder, name, shape.from, shape.to, shape.kernel, options);
    norm_ = tenon::BatchNorm(builder, norm_name, shape.to, 0.1, 1e-5, norm_weight);
  }

  Tensor operator()(const Tensor& x) const { return norm_(convolution_(x)); }

 private:
  tenon::Conv2d convolution_;
  tenon::BatchNorm norm_;
};

// The columns of Table 1 in the paper.
struct Layout {
  bool has_bottlenecks;
  std::vector<int64_t> blocks;  // number per stage
};

Layout find_layout(int64_t depth) {
  switch (depth) {
    case 18: return {false, {2, 2, 2, 2}};
    case 34: return {false, {3, 4, 6, 3}};
    case 50: return {true, {3, 4, 6, 3}};
    case 101: return {true, {3, 4, 23, 3}};
    case 152: return {true, {3, 8, 36, 3}};
    default:
      throw tenon::Error(TENON_INVALID_ARGUMENT,
                         "depth = " + std::to_string(depth) + "; expected 18, 34, 50, 101 or 152");
  }
}

// Two 3 x 3 convolutions, or a 3 x 3 convolution on few channels between two 1 x 1 convolutions, with a shortcut around
// them.
class Block {
 public:
  Block(const Builder& builder, const std::string& name, const std::vector<Convolution::Shape>& shapes,
        double last_norm_weight) {
    int64_t stride = 1;
    for (size_t i = 0; i < shapes.size(); ++i) {
      const std::string number = std::to_string(i + 1);
      const double norm_weight = i + 1 == shapes.size() ? last_norm_weight : 1;
      residual_.emplace_back(builder, name + ".conv" + number, name + ".bn" + number, shapes[i], norm_weight);
      stride *= shapes[i].stride;
    }
    const int64_t from = shapes.front().from;
    const int64_t to = shapes.back().to;
    if (stride == 1 && from == to) return;
    shortcut_.emplace(builder, name + ".downsample.0", name + ".downsample.1", Convolution::Shape{from, to, 1, stride});
  }

  Tensor operator()(const Tensor& x) const {
    Tensor sum = x;
    for (const Convolution& convolution : residual_) {
      sum = convolution(sum);
      if (&convolution != &residual_.back()) relu_in_place(sum);
    }
    sum += shortcut_ ? (*shortcut_)(x) : x;
    relu_in_place(sum);
    return sum;
  }

 private:
  std::vector<Convolution> residual_;
  std::optional<Convolution> shortcut_;
};

class ResNet final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("depth", 18).range("[18, 152]").doc("layers with weights: 18, 34, 50, 101 or 152"),
            tenon::components::channels_param(3),
            tenon::components::classes_param(1000),
            tenon::param("stem", "imagenet")
                .choices({"imagenet", "cifar"})
                .doc("imagenet: 7 x 7 convolution and pooling, which reduce height and width to a quarter; cifar: 3 x "
                     "3 convolution for small images, which keeps height and width"),
            tenon::param("width", 64)
                .range("[1, 1024]")
                .doc("channels after the stem, doubled in each of three stages; 64 in the paper"),
            tenon::param("zero_init_residual", false)
                .doc("whether to initialise the last batch normalisation of each block with weight 0, so that the "
                     "block begins as the identity (arXiv:1706.02677)")};
  }

  explicit ResNet(const tenon::Params& params)
      : layout_(find_layout(params.integer("depth"))),
        channels_(params.integer("channels")),
        classes_(params.integer("classes")),
        has_large_stem_(params.text("stem") == "imagenet"),
        width_(params.integer("width")),
        last_norm_weight_(params.boolean("zero_init_residual") ? 0 : 1) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("image", "N," + std::to_string(channels_) + ",H,W", TENON_ANY_FLOAT, "of any size"),
            tenon::output("logits", "N," + std::to_string(classes_), TENON_ANY_FLOAT)};
  }

  void build(const Builder& builder) {
    const Convolution::Shape large{channels_, width_, 7, 2};
    stem_.emplace(builder, "conv1", "bn1", has_large_stem_ ? large : Convolution::Shape{channels_, width_, 3});
    int64_t features = width_;
    for (size_t stage = 0; stage < layout_.blocks.size(); ++stage) {
      for (int64_t i = 0; i < layout_.blocks[stage]; ++i) {
        const std::string name = "layer" + std::to_string(stage + 1) + "." + std::to_string(i);
        const auto shapes = make_shapes(features, width_ << stage, stage > 0 && i == 0 ? 2 : 1);
        blocks_.emplace_back(builder, name, shapes, last_norm_weight_);
        features = shapes.back().to;
      }
    }
    classifier_ = tenon::Linear(builder, "fc", features, classes_);
  }

  bool is_capturable() const { return true; }

  Tensor forward(const Frame& frame, const tenon::Inputs& inputs) const {
    Tensor x = tenon::checkpoint(
        frame, [this](const Frame&, const Tensor& image) { return pass_stem(image); }, inputs["image"]);
    for (const Block& block : blocks_) {
      x = tenon::checkpoint(
          frame, [&block](const Frame&, const Tensor& given) { return block(given); }, x);
    }
    return classifier_(flatten(adaptive_avg_pool2d(x, 1, 1), 1));
  }

 private:
  std::vector<Convolution::Shape> make_shapes(int64_t from, int64_t width, int64_t stride) const {
    if (!layout_.has_bottlenecks) return {{from, width, 3, stride}, {width, width, 3}};
    return {{from, width, 1}, {width, width, 3, stride}, {width, 4 * width, 1}};
  }

  Tensor pass_stem(const Tensor& image) const {
    const Tensor x = (*stem_)(image);
    relu_in_place(x);
    return has_large_stem_ ? max_pool2d(x, 3, 2, 1) : x;
  }

  Layout layout_;
  int64_t channels_;
  int64_t classes_;
  bool has_large_stem_;
  int64_t width_;
  double last_norm_weight_;
  std::optional<Convolution> stem_;
  std::vector<Block> blocks_;
  tenon::Linear classifier_;
};

}  // namespace

TENON_PLUGIN("resnet", "0.1.0", "Apache-2.0", "Residual networks for image classification.",
             tenon::model<ResNet>(
                 "resnet", "residual network for image classification; loads the weights of torchvision and timm"),
             tenon::operators({"aten::relu_"}))

// EfficientNet: Tan and Le, "EfficientNet: rethinking model scaling for convolutional neural networks",
// arXiv:1905.11946. Names and structure are those of torchvision, so that its weights load; so do timm's, by their
// names.
#include <tenon/checkpointing.hpp>
#include <tenon/plugin.hpp>

#include <cmath>

#include "plugins/models/layers.h"
#include "plugins/models/params.h"

namespace {

using tenon::Builder;
using tenon::Frame;
using tenon::Tensor;

// Factors relative to B0, section 3.3 of the paper, and the variant's dropout.
struct Variant {
  const char* name;
  double width;  // factor for channels
  double depth;  // factor for blocks per stage
  double dropout;
  bool has_slow_norms;  // batch normalisation as in the paper; torchvision trained the others with PyTorch's defaults
};

constexpr Variant kVariants[] = {{"b0", 1.0, 1.0, 0.2, false}, {"b1", 1.0, 1.1, 0.2, false},
                                 {"b2", 1.1, 1.2, 0.3, false}, {"b3", 1.2, 1.4, 0.3, false},
                                 {"b4", 1.4, 1.8, 0.4, false}, {"b5", 1.6, 2.2, 0.4, true},
                                 {"b6", 1.8, 2.6, 0.5, true},  {"b7", 2.0, 3.1, 0.5, true}};

// A row of Table 1 in the paper, for B0.
struct Stage {
  int64_t expansion, kernel, stride, from, to, blocks;
};

constexpr Stage kStages[] = {{1, 3, 1, 32, 16, 1},  {6, 3, 2, 16, 24, 2},   {6, 5, 2, 24, 40, 2},  {6, 3, 2, 40, 80, 3},
                             {6, 5, 1, 80, 112, 3}, {6, 5, 2, 112, 192, 4}, {6, 3, 1, 192, 320, 1}};

// Rounds to the nearest multiple of 8, but not below 0.9 of `channels`.
int64_t round_channels(double channels) {
  const int64_t rounded = std::max<int64_t>(8, static_cast<int64_t>(channels + 4) / 8 * 8);
  return static_cast<double>(rounded) < 0.9 * channels ? rounded + 8 : rounded;
}

// What the weights of several libraries differ in.
struct Convention {
  double momentum, eps;   // of batch normalisation
  bool has_same_padding;  // as TensorFlow: the padding depends on the size of the image, and may be asymmetric
};

// Pads with zeros to ceil(size / stride) outputs. Of an odd number of rows or columns, the last side gets one more.
Tensor pad_same(const Tensor& x, int64_t kernel, int64_t stride) {
  static const tenon::Op pad("aten::constant_pad_nd");
  const auto missing = [&](int64_t size) {
    return std::max<int64_t>(0, ((size + stride - 1) / stride - 1) * stride + kernel - size);
  };
  const std::vector<int64_t> shape = x.shape();
  const int64_t rows = missing(shape[2]), columns = missing(shape[3]);
  return x.checked_frame().call(
      pad, {x, std::vector<int64_t>{columns / 2, columns - columns / 2, rows / 2, rows - rows / 2}});
}

// A convolution and a batch normalisation, which replaces the bias.
class Convolution {
 public:
  struct Shape {
    int64_t from, to, kernel = 1, stride = 1, groups = 1;
  };

  Convolution(const Builder& builder, const std::string& name, const Shape& shape, const Convention& by)
      : pads_same_(by.has_same_padding && shape.stride > 1),  // with stride 1 both paddings are equal
        kernel_(shape.kernel),
        stride_(shape.stride),
        convolution_(builder, name + ".0", shape.from, shape.to, shape.kernel,
                     {shape.stride, pads_same_ ? 0 : shape.kernel / 2, 1, shape.groups, /*has_bias=*/false,
                      tenon::components::init_by_fan_out(shape.to, shape.kernel)}),
        norm_(builder, name + ".1", shape.to, by.momentum, by.eps) {}

  Tensor operator()(const Tensor& x) const {
    return norm_(convolution_(pads_same_ ? pad_same(x, kernel_, stride_) : x));
  }

 private:
  bool pads_same_;
  int64_t kernel_, stride_;
  tenon::Conv2d convolution_;
  tenon::BatchNorm norm_;
};

// A 1 x 1 convolution with a bias initialised to 0.
tenon::Conv2d make_pointwise(const Builder& builder, const std::string& name, int64_t from, int64_t to) {
  return {builder, name, from,
          to,      1,    {.init = tenon::components::init_by_fan_out(to, 1), .bias_init = tenon::init::constant(0)}};
}

// Weighs the channels by their means over the image: Hu et al., "Squeeze-and-excitation networks", arXiv:1709.01507.
class SqueezeExcitation {
 public:
  SqueezeExcitation(const Builder& builder, const std::string& name, int64_t channels, int64_t squeezed)
      : squeeze_(make_pointwise(builder, name + ".fc1", channels, squeezed)),
        excite_(make_pointwise(builder, name + ".fc2", squeezed, channels)) {}

  Tensor operator()(const Tensor& x) const {
    return sigmoid(excite_(silu(squeeze_(adaptive_avg_pool2d(x, 1, 1))))) * x;
  }

 private:
  tenon::Conv2d squeeze_, excite_;
};

// An inverted residual block: expand the channels, convolve each channel, and reduce the channels. Sandler et al.,
// "MobileNetV2: inverted residuals and linear bottlenecks", arXiv:1801.04381.
class Block {
 public:
  struct Shape {
    int64_t expansion, kernel, stride, from, to;
  };

  Block(const Builder& builder, const std::string& name, const Shape& shape, const Convention& by, double drop)
      : is_residual_(shape.stride == 1 && shape.from == shape.to), drop_(drop) {
    int64_t part = 0;
    const auto next_name = [&] { return name + ".block." + std::to_string(part++); };
    const int64_t hidden = round_channels(static_cast<double>(shape.from * shape.expansion));
    if (hidden != shape.from) expand_.emplace(builder, next_name(), Convolution::Shape{shape.from, hidden}, by);
    const Convolution::Shape depthwise{hidden, hidden, shape.kernel, shape.stride, hidden};
    depthwise_.emplace(builder, next_name(), depthwise, by);
    weigh_.emplace(builder, next_name(), hidden, std::max<int64_t>(1, shape.from / 4));
    project_.emplace(builder, next_name(), Convolution::Shape{hidden, shape.to}, by);
  }

  Tensor operator()(const Tensor& x) const {
    const Tensor hidden = (*weigh_)(silu((*depthwise_)(expand_ ? silu((*expand_)(x)) : x)));
    const Tensor projected = (*project_)(hidden);
    if (!is_residual_) return projected;
    // No graph node saves the output of batch normalisation, so it is modified in place.
    tenon::components::drop_rows(projected, drop_);
    return projected += x;
  }

 private:
  bool is_residual_;
  double drop_;
  std::optional<Convolution> expand_, depthwise_, project_;
  std::optional<SqueezeExcitation> weigh_;
};

Variant read_variant(const tenon::Params& params) {
  Variant variant = tenon::components::find_variant(kVariants, params);
  if (params.number("width") > 0) variant.width = params.number("width");
  if (params.number("depth") > 0) variant.depth = params.number("depth");
  if (params.number("dropout") >= 0) variant.dropout = params.number("dropout");
  return variant;
}

class EfficientNet final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("variant", "b0")
                .choices(tenon::components::list_variants(kVariants))
                .doc("model size, for images of 224 to 600 pixels"),
            tenon::components::channels_param(3),
            tenon::components::classes_param(1000),
            tenon::param("dropout", -1.0)
                .range("[-1, 1)")
                .doc("dropout probability before the classifier; negative: the default of the variant, 0.2 to 0.5"),
            tenon::param("stochastic_depth", 0.2)
                .range("[0, 1)")
                .doc("probability that a sample skips a block (stochastic depth, arXiv:1603.09382), increasing with "
                     "the depth of the block from 0 to nearly this value"),
            tenon::param("width", 0.0)
                .range("[0, 16]")
                .doc("factor for the channels of b0, rounded to multiples of 8; 0: the default of the variant, 1 to 2"),
            tenon::param("depth", 0.0)
                .range("[0, 16]")
                .doc("factor for the blocks per stage of b0, rounded up; 0: the default of the variant, 1 to 3.1"),
            tenon::param("padding", "symmetric")
                .choices({"symmetric", "same"})
                .doc("padding of convolutions with stride 2: symmetric, or same as in TensorFlow and timm's "
                     "tf_efficientnet"),
            tenon::param("norm_eps", 0.0)
                .range("[0, 1]")
                .doc("term added to the variance in batch normalisation; 0: the default of torchvision's variant, 1e-5 "
                     "for b0 to b4 and 1e-3 for b5 to b7; timm has 1e-3 in tf_efficientnet and 1e-5 otherwise")};
  }

  explicit EfficientNet(const tenon::Params& params)
      : variant_(read_variant(params)),
        channels_(params.integer("channels")),
        classes_(params.integer("classes")),
        stochastic_depth_(params.number("stochastic_depth")),
        has_same_padding_(params.text("padding") == "same"),
        norm_eps_(params.number("norm_eps") > 0 ? params.number("norm_eps")
                  : variant_.has_slow_norms     ? 1e-3
                                                : 1e-5) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("image", "N," + std::to_string(channels_) + ",H,W", TENON_ANY_FLOAT, "of any size"),
            tenon::output("logits", "N," + std::to_string(classes_), TENON_ANY_FLOAT)};
  }

  void build(const Builder& builder) {
    const Convention by{variant_.has_slow_norms ? 0.01 : 0.1, norm_eps_, has_same_padding_};
    const int64_t stem = scale_channels(kStages[0].from);
    stem_.emplace(builder, "features.0", Convolution::Shape{channels_, stem, 3, 2}, by);
    add_blocks(builder, by);
    const int64_t last = scale_channels(std::end(kStages)[-1].to);
    head_.emplace(builder, "features." + std::to_string(std::size(kStages) + 1), Convolution::Shape{last, 4 * last},
                  by);
    const double bound = 1 / std::sqrt(static_cast<double>(classes_));
    classifier_ = tenon::Linear(builder, "classifier.1", 4 * last, classes_,
                                {true, tenon::init::uniform(-bound, bound), tenon::init::constant(0)});
  }

  bool is_capturable() const { return true; }

  // The names of timm's EfficientNet.
  std::vector<std::pair<std::string, std::string>> tied_weights() const {
    using tenon::components::add_names;
    std::vector<std::pair<std::string, std::string>> names;
    const auto add_convolution = [&](const std::string& convolution, const std::string& norm, const std::string& name) {
      add_names(names, convolution, name + ".0.", {"weight"});
      add_names(names, norm, name + ".1.", {"weight", "bias", "running_mean", "running_var", "num_batches_tracked"});
    };
    add_convolution("conv_stem.", "bn1.", "features.0");
    for (size_t stage = 0; stage < std::size(kStages); ++stage) {
      for (int64_t i = 0; i < scale_depth(kStages[stage].blocks); ++i) {
        const std::string timm = "blocks." + std::to_string(stage) + "." + std::to_string(i) + ".";
        const std::string name = "features." + std::to_string(stage + 1) + "." + std::to_string(i) + ".block.";
        // A block that does not expand its channels has three parts instead of four.
        const bool expands = kStages[stage].expansion != 1;
        int part = 0, norm = 1;
        const auto next_norm = [&] { return timm + "bn" + std::to_string(norm++) + "."; };
        const auto next_part = [&] { return name + std::to_string(part++); };
        if (expands) add_convolution(timm + "conv_pw.", next_norm(), next_part());
        add_convolution(timm + "conv_dw.", next_norm(), next_part());
        const std::string weigh = next_part();
        add_names(names, timm + "se.conv_reduce.", weigh + ".fc1.", {"weight", "bias"});
        add_names(names, timm + "se.conv_expand.", weigh + ".fc2.", {"weight", "bias"});
        add_convolution(timm + (expands ? "conv_pwl." : "conv_pw."), next_norm(), next_part());
      }
    }
    add_convolution("conv_head.", "bn2.", "features." + std::to_string(std::size(kStages) + 1));
    add_names(names, "classifier.", "classifier.1.", {"weight", "bias"});
    return names;
  }

  Tensor forward(const Frame& frame, const tenon::Inputs& inputs) const {
    Tensor x = tenon::checkpoint(
        frame, [this](const Frame&, const Tensor& image) { return silu((*stem_)(image)); }, inputs["image"]);
    for (const Block& block : blocks_) {
      x = tenon::checkpoint(
          frame, [&block](const Frame&, const Tensor& given) { return block(given); }, x);
    }
    x = tenon::checkpoint(
        frame, [this](const Frame&, const Tensor& given) { return adaptive_avg_pool2d(silu((*head_)(given)), 1, 1); },
        x);
    return classifier_(dropout(flatten(x, 1), variant_.dropout));
  }

 private:
  int64_t scale_channels(int64_t channels) const {
    return round_channels(static_cast<double>(channels) * variant_.width);
  }

  int64_t scale_depth(int64_t blocks) const {
    return static_cast<int64_t>(std::ceil(static_cast<double>(blocks) * variant_.depth));
  }

  void add_blocks(const Builder& builder, const Convention& by) {
    int64_t count = 0;
    for (const Stage& stage : kStages) count += scale_depth(stage.blocks);
    int64_t number = 1;
    for (const Stage& stage : kStages) {
      const std::string name = "features." + std::to_string(number++) + ".";
      const int64_t to = scale_channels(stage.to);
      Block::Shape shape{stage.expansion, stage.kernel, stage.stride, scale_channels(stage.from), to};
      for (int64_t i = 0; i < scale_depth(stage.blocks); ++i) {
        const double drop = stochastic_depth_ * static_cast<double>(blocks_.size()) / static_cast<double>(count);
        blocks_.emplace_back(builder, name + std::to_string(i), shape, by, drop);
        shape.from = to;
        shape.stride = 1;
      }
    }
  }

  Variant variant_;
  int64_t channels_;
  int64_t classes_;
  double stochastic_depth_;
  bool has_same_padding_;
  double norm_eps_;
  std::optional<Convolution> stem_, head_;
  std::vector<Block> blocks_;
  tenon::Linear classifier_;
};

}  // namespace

TENON_PLUGIN("efficientnet", "0.1.0", "Apache-2.0", "EfficientNets for image classification.",
             tenon::model<EfficientNet>(
                 "efficientnet",
                 "EfficientNet B0 to B7 for image classification; loads the weights of torchvision and timm"),
             tenon::operators({"aten::constant_pad_nd"}))

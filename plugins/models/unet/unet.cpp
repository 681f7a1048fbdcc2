// U-Net: Ronneberger, Fischer and Brox, "U-Net: Convolutional Networks for Biomedical Image Segmentation", MICCAI 2015,
// arXiv:1505.04597. There are two differences. Convolutions are padded, so that the logits have the size of the image.
// Batch normalisation follows each convolution.
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <tenon/torch.hpp>

#include "plugins/models/params.h"

namespace {

namespace nn = torch::nn;

class UNet final : public nn::Module {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::components::channels_param(3), tenon::components::classes_param(2),
            tenon::param("depth", 4).range("[1, 6]").doc("how often the image is halved; 4 in the paper"),
            tenon::param("width", 32)
                .range("[1, 128]")
                .doc("channels at full image size, doubled each time the image is halved; 64 in the paper")};
  }

  explicit UNet(const tenon::Params& params)
      : channels_(params.integer("channels")), classes_(params.integer("classes")) {
    const int64_t depth = params.integer("depth");
    const int64_t width = params.integer("width");
    for (int64_t level = 0; level <= depth; ++level) {
      const int64_t from = level == 0 ? channels_ : width << (level - 1);
      encoders_.push_back(register_module(numbered("encoder", level), make_convolutions(from, width << level)));
    }
    for (int64_t level = 0; level < depth; ++level) {
      const int64_t to = width << level;
      const auto options = nn::ConvTranspose2dOptions(2 * to, to, 2).stride(2);
      upsamplers_.push_back(register_module(numbered("upsampler", level), nn::ConvTranspose2d(options)));
      decoders_.push_back(register_module(numbered("decoder", level), make_convolutions(2 * to, to)));
    }
    head_ = register_module("head", nn::Conv2d(nn::Conv2dOptions(width, classes_, 1)));
  }

  std::vector<tenon::Port> ports() const {
    return {tenon::input("image", "N," + std::to_string(channels_) + ",H,W", TENON_ANY_FLOAT, "of any size"),
            tenon::output("logits", "N," + std::to_string(classes_) + ",H,W", TENON_ANY_FLOAT)};
  }

  bool is_capturable() const { return true; }

  torch::Tensor forward(torch::Tensor image) {
    std::vector<torch::Tensor> skipped;
    torch::Tensor features = encode(0, image);
    for (size_t level = 1; level < encoders_.size(); ++level) {
      skipped.push_back(features);
      features = encode(level, features);
    }
    for (size_t level = decoders_.size(); level-- > 0;) features = decode(level, skipped[level], features);
    return head_->forward(features);
  }

 private:
  torch::Tensor encode(size_t level, const torch::Tensor& features) {
    return tenon::checkpoint(
        [this, level](const torch::Tensor& given) {
          return encoders_[level]->forward(level == 0 ? given : halve(given));
        },
        features);
  }

  torch::Tensor decode(size_t level, const torch::Tensor& skip, const torch::Tensor& features) {
    const auto decode = [this, level](const std::vector<torch::Tensor>& given) {
      const torch::Tensor grown = crop(upsamplers_[level]->forward(given[1]), given[0]);
      return std::vector<torch::Tensor>{decoders_[level]->forward(torch::cat({given[0], grown}, 1))};
    };
    return tenon::checkpoint(decode, {skip, features}, 1).front();
  }

  static std::string numbered(const char* name, int64_t level) { return name + ("_" + std::to_string(level)); }

  static nn::Sequential make_convolutions(int64_t from, int64_t to) {
    nn::Sequential convolutions;
    for (const int64_t inputs : {from, to}) {
      // Batch normalisation replaces the bias.
      convolutions->push_back(nn::Conv2d(nn::Conv2dOptions(inputs, to, 3).padding(1).bias(false)));
      convolutions->push_back(nn::BatchNorm2d(to));
      convolutions->push_back(nn::ReLU(nn::ReLUOptions(/*inplace=*/true)));
    }
    return convolutions;
  }

  // An odd size is rounded up when halving, so that the last row and column are kept, and cropped again when
  // upsampling. Padding at both ends would shift the features.
  static torch::Tensor halve(const torch::Tensor& features) {
    // Two sizes each, which converters to ONNX require.
    return torch::max_pool2d(features, {2, 2}, {2, 2}, {0, 0}, {1, 1}, /*ceil_mode=*/true);
  }
  static torch::Tensor crop(const torch::Tensor& features, const torch::Tensor& like) {
    return features.narrow(2, 0, like.size(2)).narrow(3, 0, like.size(3));
  }

  int64_t channels_;
  int64_t classes_;
  std::vector<nn::Sequential> encoders_;         // from full image size down
  std::vector<nn::ConvTranspose2d> upsamplers_;  // number i scales up to the size of encoder i
  std::vector<nn::Sequential> decoders_;
  nn::Conv2d head_ = nullptr;
};

}  // namespace

TENON_PLUGIN("unet", "0.1.0", "Apache-2.0", "A network for semantic segmentation.",
             tenon::torch_model<UNet>("unet", "U-Net with batch normalisation for semantic segmentation"))

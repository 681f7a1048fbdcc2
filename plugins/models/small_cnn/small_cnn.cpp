// A small convolutional network for images of any size, written in the usual way for LibTorch.
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
#include <tenon/torch.hpp>

#include "plugins/models/params.h"

namespace {

namespace nn = torch::nn;

class SmallCnn final : public nn::Module {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::components::channels_param(1), tenon::components::classes_param(10),
        tenon::param("width", 32).range("[1, 1e9]").doc("channels of the first two convolutions"),
        tenon::param("stages", 1)
            .range("[1, 6]")
            .doc("how often the image is halved, each time followed by a convolution that doubles the channels"),
        tenon::param("values", 0)
            .range("[0, 1e9]")
            .doc("number of values to predict in addition to the classes, in the output values; 0: no such output")};
  }

  explicit SmallCnn(const tenon::Params& params)
      : channels_(params.integer("channels")), classes_(params.integer("classes")), values_(params.integer("values")) {
    const int64_t width = params.integer("width");
    add_convolution(channels_, width);
    add_convolution(width, width);
    const int64_t stages = params.integer("stages");
    for (int64_t stage = 0; stage < stages; ++stage) {
      features_->push_back(nn::MaxPool2d(2));
      add_convolution(width << stage, width << (stage + 1));
    }
    features_->push_back(nn::AdaptiveAvgPool2d(kPooledSize));
    features_->push_back(nn::Flatten());
    register_module("features", features_);
    const int64_t features = (width << stages) * kPooledSize * kPooledSize;
    classifier_ = register_module("classifier", nn::Linear(features, classes_));
    if (values_ > 0) regressor_ = register_module("regressor", nn::Linear(features, values_));
  }

  std::vector<tenon::Port> ports() const {
    std::vector<tenon::Port> ports = {tenon::input("image", "N," + std::to_string(channels_) + ",H,W", TENON_ANY_FLOAT),
                                      tenon::output("logits", "N," + std::to_string(classes_), TENON_ANY_FLOAT)};
    if (values_ > 0) {
      ports.push_back(tenon::output("values", "N," + std::to_string(values_), TENON_ANY_FLOAT, "the predicted values"));
    }
    return ports;
  }

  bool is_capturable() const { return true; }

  std::vector<torch::Tensor> forward(torch::Tensor image) {
    const torch::Tensor features = features_->forward(image);
    std::vector<torch::Tensor> outputs = {classifier_(features)};
    if (values_ > 0) outputs.push_back(regressor_(features));
    return outputs;
  }

 private:
  // Pooling to 2 x 2 keeps top and bottom separate, which distinguishes a 6 from a 9.
  static constexpr int64_t kPooledSize = 2;

  void add_convolution(int64_t from, int64_t to) {
    // Batch normalisation replaces the bias.
    features_->push_back(nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1).bias(false)));
    features_->push_back(nn::BatchNorm2d(to));
    features_->push_back(nn::ReLU());
  }

  int64_t channels_;
  int64_t classes_;
  int64_t values_;
  nn::Sequential features_;
  nn::Linear classifier_ = nullptr;
  nn::Linear regressor_ = nullptr;
};

}  // namespace

TENON_PLUGIN("small_cnn", "0.1.0", "Apache-2.0", "A small convolutional network for images.",
             tenon::torch_model<SmallCnn>(
                 "small_cnn",
                 "3x3 convolutions with batch normalisation, three by default, then a linear layer per output"))

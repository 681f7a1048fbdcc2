// One network for two images: Bromley et al., "Signature Verification using a 'Siamese' Time Delay Neural Network",
// NIPS 1993. A small head classifies the distance of their features in each dimension, as in Koch, Zemel and
// Salakhutdinov, "Siamese Neural Networks for One-shot Image Recognition", ICML 2015 workshop.
#include <torch/nn/modules/activation.h>
#include <torch/nn/modules/batchnorm.h>
#include <torch/nn/modules/container/sequential.h>
#include <torch/nn/modules/conv.h>
#include <torch/nn/modules/linear.h>
#include <torch/nn/modules/pooling.h>
#include <tenon/torch.hpp>

namespace {

namespace nn = torch::nn;

class SiameseCnn final : public nn::Module {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("channels", 3)
                .range("[1, 1e9]")
                .counts_channels()
                .doc("channels of both images; if left out, those of the data"),
            tenon::param("width", 32)
                .range("[1, 1e9]")
                .doc("channels of the first convolution; the others have 2, 4 and 4 times as many"),
            tenon::param("values", 0)
                .range("[0, 1e9]")
                .doc("number of values to predict from the ordered pair of images, in the output values; 0: no such "
                     "output")};
  }

  explicit SiameseCnn(const tenon::Params& params)
      : channels_(params.integer("channels")), values_(params.integer("values")) {
    const int64_t width = params.integer("width");
    const int64_t features = 4 * width;
    add_convolution(channels_, width);
    add_convolution(width, 2 * width);
    add_convolution(2 * width, 4 * width);
    add_convolution(4 * width, features);
    tower_->push_back(nn::AdaptiveAvgPool2d(1));
    tower_->push_back(nn::Flatten());
    // The means mix properties such as size and shape. This layer can separate them.
    tower_->push_back(nn::Linear(features, features));
    tower_->push_back(nn::ReLU());
    register_module("tower", tower_);
    same_ = register_module("same", make_head(features, 1));
    if (values_ > 0) regressor_ = register_module("regressor", make_head(2 * features, values_));
  }

  std::vector<tenon::Port> ports() const {
    const std::string image = "N," + std::to_string(channels_);
    std::vector<tenon::Port> ports = {
        tenon::input("first", image + ",H,W", TENON_ANY_FLOAT, "an image of at least 8 x 8 pixels"),
        tenon::input("second", image + ",H2,W2", TENON_ANY_FLOAT, "the second image; its size may differ"),
        tenon::output("same", "N", TENON_ANY_FLOAT,
                      "logit that both images are the same; the order of the images does not matter")};
    if (values_ > 0) {
      ports.push_back(tenon::output("values", "N," + std::to_string(values_), TENON_ANY_FLOAT, "the predicted values"));
    }
    return ports;
  }

  bool is_capturable() const { return true; }

  std::vector<torch::Tensor> forward(torch::Tensor first, torch::Tensor second) {
    const torch::Tensor one = tower_->forward(first);
    const torch::Tensor other = tower_->forward(second);
    std::vector<torch::Tensor> outputs = {same_->forward((one - other).abs()).squeeze(1)};
    if (values_ > 0) outputs.push_back(regressor_->forward(torch::cat({one, other}, 1)));
    return outputs;
  }

 private:
  void add_convolution(int64_t from, int64_t to) {
    if (!tower_->is_empty()) tower_->push_back(nn::MaxPool2d(2));
    // Batch normalisation replaces the bias.
    tower_->push_back(nn::Conv2d(nn::Conv2dOptions(from, to, 3).padding(1).bias(false)));
    tower_->push_back(nn::BatchNorm2d(to));
    tower_->push_back(nn::ReLU());
  }

  static nn::Sequential make_head(int64_t from, int64_t to) {
    return nn::Sequential(nn::Linear(from, from), nn::ReLU(), nn::Linear(from, to));
  }

  int64_t channels_;
  int64_t values_;
  nn::Sequential tower_;
  nn::Sequential same_ = nullptr;
  nn::Sequential regressor_ = nullptr;
};

}  // namespace

TENON_PLUGIN("siamese_cnn", "0.1.0", "Apache-2.0", "A convolutional network that compares two images.",
             tenon::torch_model<SiameseCnn>(
                 "siamese_cnn",
                 "convolutional network for image pairs: predicts whether they are the same, and optional values"))

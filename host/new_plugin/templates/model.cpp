// A model: two convolutions, and a linear layer for the classes.
// The header tenon/model.hpp describes all functions of a model.
#include <tenon/plugin.hpp>

namespace {

class MyName final {
 public:
  // A run file may leave out the channels and classes: the host takes them from the data.
  static std::vector<tenon::Param> schema() {
    return {tenon::param("channels", 3).range("[1, 1e9]").counts_channels().doc("channels of the image"),
            tenon::param("classes", 10).range("[1, 1e9]").counts_classes().doc("number of classes"),
            tenon::param("width", 32).range("[1, 1e9]").doc("channels of the first convolution")};
  }

  explicit MyName(const tenon::Params& params)
      : channels_(params.integer("channels")), classes_(params.integer("classes")), width_(params.integer("width")) {}

  // The host checks the shapes against the data before the first step.
  std::vector<tenon::Port> ports() const {
    return {tenon::input("image", "N," + std::to_string(channels_) + ",H,W", TENON_ANY_FLOAT, "an image"),
            tenon::output("logits", "N," + std::to_string(classes_), TENON_ANY_FLOAT, "scores of the classes")};
  }

  // Declares the weights. The host initialises, trains and saves them.
  void build(const tenon::Builder& builder) {
    tenon::Conv2dOptions options;
    options.padding = 1;
    first_ = tenon::Conv2d(builder, "first", channels_, width_, 3, options);
    second_ = tenon::Conv2d(builder, "second", width_, 2 * width_, 3, options);
    classifier_ = tenon::Linear(builder, "classifier", 2 * width_ * kPooled * kPooled, classes_);
  }

  // Depends only on its arguments: the weights are those of the frame.
  tenon::Tensor forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor features = relu(second_(relu(first_(inputs["image"]))));
    return classifier_(flatten(adaptive_avg_pool2d(features, kPooled, kPooled), 1));
  }

 private:
  static constexpr int64_t kPooled = 2;  // height and width after pooling, for images of any size

  int64_t channels_;
  int64_t classes_;
  int64_t width_;
  tenon::Conv2d first_, second_;
  tenon::Linear classifier_;
};

}  // namespace

TENON_PLUGIN("my_name", "0.1.0", "MIT", "The model my_name.",
             tenon::model<MyName>("my_name", "two convolutions, and a linear layer for the classes"))

// A portable model with two inputs and two outputs, and a dataset and a loss for it.
#include <tenon/plugin.hpp>

namespace {

// Pairs of a left and a right point: their distance along x, and whether the right one is higher.
class Pairs final {
 public:
  std::vector<tenon::Field> fields() const {
    return {{"left", TENON_FLOAT32, {2}, "x and y"},
            {"right", TENON_FLOAT32, {2}, "x and y"},
            {"distance", TENON_FLOAT32, {1}, "along x"},
            {"label", TENON_INT64, {}, "1: right is higher"}};
  }
  int64_t size() const { return 512; }

  void get(const tenon::Sample& sample, const tenon::Sink& sink) const {
    tenon::Random random(sample.seed);
    float* left = sink.slot<float>("left");
    float* right = sink.slot<float>("right");
    for (float* point : {left, right})
      for (int i = 0; i < 2; ++i) point[i] = static_cast<float>(random.uniform(-1, 1));
    sink.slot<float>("distance")[0] = right[0] - left[0];
    sink.put<int64_t>("label", right[1] > left[1]);
  }
};

class TwoTowers final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("width", 32).range("[1, inf)").doc("number of outputs of each tower")};
  }
  explicit TwoTowers(const tenon::Params& params) : width_(params.integer("width")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("left", "N,2", TENON_ANY_FLOAT),
            tenon::input("right", "N,2", TENON_ANY_FLOAT),
            tenon::output("distance", "N,1", TENON_ANY_FLOAT),
            tenon::output("logits", "N,2", TENON_ANY_FLOAT)};
  }

  void build(const tenon::Builder& builder) {
    left_ = tenon::Linear(builder, "left", 2, width_);
    right_ = tenon::Linear(builder, "right", 2, width_);
    distance_ = tenon::Linear(builder, "distance", 2 * width_, 1);
    logits_ = tenon::Linear(builder, "logits", 2 * width_, 2);
  }

  // Depends only on its arguments: the weights are those of the frame.
  std::vector<tenon::Tensor> forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor both =
        tenon::cat({relu(left_(inputs["left"])), relu(right_(inputs["right"]))}, 1);
    return {distance_(both), logits_(both)};
  }

 private:
  int64_t width_;
  tenon::Linear left_, right_, distance_, logits_;
};

class MeanSquare final {
 public:
  std::vector<tenon::Port> ports() const {
    // ...S: the same further dimensions on both sides, so that nothing is broadcast
    // unintentionally.
    return {tenon::input("prediction", "N,...S", TENON_ANY_FLOAT),
            tenon::input("target", "N,...S", TENON_ANY_FLOAT)};
  }
  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    return {mse_loss(inputs["prediction"], inputs["target"]),
            static_cast<double>(inputs["target"].numel())};
  }
};

}  // namespace

TENON_PLUGIN("two_towers", "1.0.0", "MIT", "Two inputs, two outputs.",
             tenon::dataset<Pairs>("point_pairs", "two points, their distance and order"),
             tenon::model<TwoTowers>("two_towers",
                                     "a linear layer per input, and two heads over both"),
             tenon::loss<MeanSquare>("mean_square", "mean squared error"))

// Mean absolute error.
#include <tenon/plugin.hpp>

#include <limits>

namespace {

class Mae final {
 public:
  // ...S: the same further dimensions on both sides, so that nothing broadcasts unnoticed.
  std::vector<tenon::Port> ports() const {
    return {tenon::input("prediction", "N,...S", TENON_ANY_FLOAT, "numbers that the model gives"),
            tenon::input("target", "N,...S", TENON_ANY_FLOAT, "what they should be")};
  }

  std::vector<tenon::State> states() const { return {{"sum", TENON_FLOAT64}, {"total", TENON_INT64}}; }

  std::vector<tenon::Figure> figures() const {
    return {tenon::lower_is_better("mae", "mean of |prediction - target|, in the target's unit")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const tenon::Tensor prediction = tenon::to_dtype(inputs[0], TENON_FLOAT64);
    const tenon::Tensor target = tenon::to_dtype(inputs[1], TENON_FLOAT64);
    frame.tensor(kSum) += tenon::sum(tenon::abs(prediction - target));
    frame.tensor(kTotal) += target.numel();
  }

  double compute(const tenon::Frame& frame) const {
    const double total = frame.tensor(kTotal).number();
    return total > 0 ? frame.tensor(kSum).number() / total : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  static constexpr uint64_t kSum = 0;
  static constexpr uint64_t kTotal = 1;
};

}  // namespace

TENON_PLUGIN("mae", "0.1.0", "Apache-2.0", "Mean absolute error.",
             tenon::metric<Mae>("mae", "mean absolute difference of prediction and target"))

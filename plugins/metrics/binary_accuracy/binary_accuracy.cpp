// The share of yes-or-no targets that are predicted right.
#include <tenon/plugin.hpp>

#include <cmath>
#include <limits>

namespace {

constexpr uint64_t kTargets = TENON_ANY_FLOAT | TENON_DTYPE_BIT(TENON_INT64);

class BinaryAccuracy final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("threshold", 0.5).range("(0, 1)").doc("probability above which a prediction is a yes")};
  }

  // The threshold of the logits.
  explicit BinaryAccuracy(const tenon::Params& params)
      : threshold_(std::log(params.number("threshold") / (1 - params.number("threshold")))) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,...S", TENON_ANY_FLOAT, "log-odds of the target being 1"),
            tenon::input("target", "N,...S", kTargets, "0 or 1; a probability above 0.5 counts as 1")};
  }

  std::vector<tenon::State> states() const { return {{"correct", TENON_INT64}, {"total", TENON_INT64}}; }

  std::vector<tenon::Figure> figures() const {
    return {tenon::higher_is_better("binary_accuracy", "share of the targets that are predicted, in [0, 1]")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const tenon::Tensor predicted = tenon::gt(inputs[0], threshold_);
    const tenon::Tensor true_ones = tenon::gt(inputs[1], 0.5);
    frame.tensor(kCorrect) += tenon::sum(tenon::eq(predicted, true_ones));
    frame.tensor(kTotal) += inputs[1].numel();
  }

  double compute(const tenon::Frame& frame) const {
    const double total = frame.tensor(kTotal).number();
    return total > 0 ? frame.tensor(kCorrect).number() / total : std::numeric_limits<double>::quiet_NaN();
  }

 private:
  static constexpr uint64_t kCorrect = 0;
  static constexpr uint64_t kTotal = 1;

  double threshold_;
};

}  // namespace

TENON_PLUGIN("binary_accuracy", "0.1.0", "Apache-2.0", "Accuracy of yes-or-no predictions.",
             tenon::metric<BinaryAccuracy>("binary_accuracy",
                                           "share of the targets on the side of the threshold that "
                                           "the logit is on"))

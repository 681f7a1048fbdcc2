// Binary accuracy: the fraction of binary targets that are predicted correctly.
#include "plugins/metrics/predictions.h"

#include <cmath>

namespace {

using tenon::Tensor;

class BinaryAccuracy final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("threshold", 0.5).range("(0, 1)").doc("probability above which the prediction is 1")};
  }

  // Converts the threshold to logits.
  explicit BinaryAccuracy(const tenon::Params& params)
      : threshold_(std::log(params.number("threshold") / (1 - params.number("threshold")))) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,...S", TENON_ANY_FLOAT, "log-odds of the target being 1"),
            tenon::input("target", "N,...S", tenon::metrics::kBinaryTargets,
                         "0 or 1; a probability above 0.5 counts as 1")};
  }

  std::vector<tenon::State> states() const {
    return {{"correct", TENON_INT64}, {"total", TENON_INT64}, {"undefined", TENON_INT64}, {"outside", TENON_INT64}};
  }

  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better("binary_accuracy", "fraction of correct predictions, in [0, 1]")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const Tensor logits = inputs[0];
    const Tensor target = inputs[1];
    frame.tensor(kCorrect) +=
        tenon::sum(tenon::eq(tenon::metrics::exceeds(logits, threshold_), tenon::gt(target, 0.5)));
    frame.tensor(kTotal) += target.numel();
    frame.tensor(kUndefined) += tenon::sum(tenon::logical_or(tenon::ne(logits, logits), tenon::ne(target, target)));
    frame.tensor(kOutside) += tenon::metrics::count_outside(target, 0, 1, tenon::eq(target, target));
  }

  double compute(const tenon::Frame& frame) const {
    tenon::metrics::refuse_outside(frame.tensor(kOutside), "numbers in [0, 1]");
    if (frame.tensor(kUndefined).number() > 0) return tenon::metrics::kNone;
    return tenon::metrics::share(frame.tensor(kCorrect).number(), frame.tensor(kTotal).number());
  }

 private:
  enum : uint64_t { kCorrect, kTotal, kUndefined, kOutside };

  double threshold_;
};

}  // namespace

TENON_PLUGIN("binary_accuracy", "0.1.0", "Apache-2.0", "Binary accuracy.",
             tenon::metric<BinaryAccuracy>("binary_accuracy", "fraction of correct binary predictions"))

// Binary cross entropy over logits, as in torch.nn.functional.binary_cross_entropy_with_logits.
#include "plugins/losses/loss.h"

namespace {

class BceWithLogits final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("positive_weight", 1.0)
                .range("(0, inf)")
                .doc("weight of a target of 1 relative to a target of 0; for rare positives use negatives / positives"),
            tenon::param("positive_weights", std::vector<double>{})
                .range("(0, inf)")
                .doc("positive weight per label (the second dimension), multiplied by positive_weight; empty: 1 for "
                     "each label")};
  }

  explicit BceWithLogits(const tenon::Params& params)
      : positive_weight_(params.number("positive_weight")), positive_weights_(params.numbers("positive_weights")) {}

  std::vector<tenon::Port> ports() const { return tenon::losses::binary_ports(); }

  // positive_weights are copied from host memory in each step.
  bool is_capturable() const { return positive_weights_.empty(); }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor logits = tenon::losses::to_float(inputs[0]);
    tenon::losses::require_binary(inputs[1]);
    const tenon::Tensor target = tenon::to_dtype(inputs[1], logits.dtype());
    return tenon::losses::mean_over(
        tenon::bce_with_logits(logits, target, TENON_REDUCTION_SUM, {}, positive_weights(logits)), logits.numel());
  }

 private:
  // Has a shape that broadcasts to that of the logits, [N, L, ...]. Empty if all weights are 1.
  tenon::Tensor positive_weights(const tenon::Tensor& logits) const {
    if (positive_weights_.empty()) {
      return positive_weight_ == 1 ? tenon::Tensor() : tenon::ones_like(logits) * positive_weight_;
    }
    const std::vector<int64_t> extents = logits.shape();
    const auto labels = static_cast<int64_t>(positive_weights_.size());
    if (extents.size() < 2 || extents[1] != labels) {
      throw tenon::Error(TENON_INVALID_ARGUMENT,
                         "positive_weights has " + std::to_string(labels) +
                             " numbers; expected one for each label, and the number of labels in the logits is " +
                             (extents.size() < 2 ? "unknown" : std::to_string(extents[1])));
    }
    std::vector<int64_t> shape(extents.size() - 1, 1);
    shape[0] = labels;
    return tenon::reshape(tenon::losses::make_like(positive_weights_, logits), shape) * positive_weight_;
  }

  double positive_weight_;
  std::vector<double> positive_weights_;
};

}  // namespace

TENON_PLUGIN("bce_with_logits", "0.1.0", "Apache-2.0", "Binary cross entropy.",
             tenon::loss<BceWithLogits>("bce_with_logits", "binary cross entropy over logits, mean over all elements"))

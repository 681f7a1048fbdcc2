// Binary cross entropy over logits, as torch.nn.functional.binary_cross_entropy_with_logits computes it.
#include <tenon/plugin.hpp>

namespace {

constexpr uint64_t kTargets = TENON_ANY_FLOAT | TENON_DTYPE_BIT(TENON_INT64);

class BceWithLogits final {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::param("positive_weight", 1.0)
            .range("(0, inf)")
            .doc("how much more a target of 1 counts than one of 0: negatives over positives, where those are rare")};
  }

  explicit BceWithLogits(const tenon::Params& params) : positive_weight_(params.number("positive_weight")) {}

  // ...S: the same further dimensions on both sides, so that nothing broadcasts unnoticed.
  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,...S", TENON_ANY_FLOAT, "log-odds of the target being 1"),
            tenon::input("target", "N,...S", kTargets, "0 or 1, or a probability")};
  }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor logits = inputs[0];
    const tenon::Tensor target = tenon::to_dtype(inputs[1], logits.dtype());
    const tenon::Tensor positive_weight =
        positive_weight_ == 1 ? tenon::Tensor() : tenon::ones_like(logits) * positive_weight_;
    return {tenon::bce_with_logits(logits, target, TENON_REDUCTION_MEAN, {}, positive_weight),
            static_cast<double>(logits.numel())};
  }

 private:
  double positive_weight_;
};

}  // namespace

TENON_PLUGIN("bce_with_logits", "0.1.0", "Apache-2.0", "Binary cross entropy.",
             tenon::loss<BceWithLogits>("bce_with_logits", "binary cross entropy over logits, mean over all of them"))

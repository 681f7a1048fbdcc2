// Softmax cross entropy over class probabilities, as in torch.nn.functional.cross_entropy with floating-point targets.
// Mixed labels need it (Zhang et al., "mixup: Beyond empirical risk minimization", ICLR 2018). Label smoothing: Szegedy
// et al., arXiv:1512.00567.
#include "plugins/losses/loss.h"

namespace {

class SoftCrossEntropy final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("label_smoothing", 0.0)
                .range("[0, 1)")
                .doc("label smoothing: fraction of the target that is spread evenly over all classes")};
  }

  explicit SoftCrossEntropy(const tenon::Params& params) : label_smoothing_(params.number("label_smoothing")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,C", TENON_ANY_FLOAT, "unnormalised log-probabilities of the classes"),
            tenon::input("target", "N,C", TENON_ANY_FLOAT, "probability of each class; the sum is 1")};
  }

  bool is_capturable() const { return true; }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor logits = tenon::losses::to_float(inputs[0]);
    const tenon::Tensor log_probabilities = tenon::log_softmax(logits, 1);
    tenon::Tensor total = -tenon::sum(inputs[1] * log_probabilities);
    if (label_smoothing_ > 0)
      total = total * (1 - label_smoothing_) -
              tenon::sum(log_probabilities) * (label_smoothing_ / static_cast<double>(logits.shape()[1]));
    return tenon::losses::mean_over(total, logits.shape()[0]);
  }

 private:
  double label_smoothing_;
};

}  // namespace

TENON_PLUGIN("soft_cross_entropy", "0.1.0", "Apache-2.0", "Softmax cross entropy over class probabilities.",
             tenon::loss<SoftCrossEntropy>(
                 "soft_cross_entropy", "softmax cross entropy with class probabilities as targets, mean over samples"))

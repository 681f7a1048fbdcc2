// Softmax cross entropy over class indices, as torch.nn.functional.cross_entropy computes it. Label smoothing: Szegedy
// et al., arXiv:1512.00567.
#include <tenon/plugin.hpp>

namespace {

class CrossEntropy final {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::param("label_smoothing", 0.0).range("[0, 1)").doc("share of the target spread evenly over all classes"),
        tenon::param("ignore_index", -100).doc("target that counts neither in the loss nor in its weight")};
  }

  explicit CrossEntropy(const tenon::Params& params)
      : label_smoothing_(params.number("label_smoothing")), ignore_index_(params.integer("ignore_index")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,C,...S", TENON_ANY_FLOAT, "unnormalised log-probabilities of the classes"),
            tenon::input("target", "N,...S", TENON_DTYPE_BIT(TENON_INT64), "class in [0, C), or ignore_index")};
  }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor logits = inputs[0];
    const tenon::Tensor target = inputs[1];
    const tenon::Tensor weight = tenon::sum(tenon::ne(target, ignore_index_));
    const tenon::Tensor total =
        tenon::cross_entropy_loss(logits, target, TENON_REDUCTION_SUM, ignore_index_, label_smoothing_);
    // Not the mean reduction, which is NaN where every target of a micro-batch is ignored.
    return {total / tenon::clamp_min(weight, 1), weight};
  }

 private:
  double label_smoothing_;
  int64_t ignore_index_;
};

}  // namespace

TENON_PLUGIN("cross_entropy", "0.1.0", "Apache-2.0", "Softmax cross entropy over class indices.",
             tenon::loss<CrossEntropy>("cross_entropy",
                                       "softmax cross entropy, mean over the targets that are not ignored"))

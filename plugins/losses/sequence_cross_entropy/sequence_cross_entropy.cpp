// Softmax cross entropy over the tokens of sequences, as torch.nn.functional.cross_entropy computes it where all tokens
// of a batch stand in one row. Label smoothing: Szegedy et al., arXiv:1512.00567.
#include <tenon/plugin.hpp>

namespace {

class SequenceCrossEntropy final {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::param("label_smoothing", 0.0).range("[0, 1)").doc("share of the target spread evenly over all tokens"),
        tenon::param("ignore_index", -100).doc("target that counts neither in the loss nor in its weight")};
  }

  explicit SequenceCrossEntropy(const tenon::Params& params)
      : label_smoothing_(params.number("label_smoothing")), ignore_index_(params.integer("ignore_index")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,T,V", TENON_ANY_FLOAT, "unnormalised log-probabilities of the vocabulary"),
            tenon::input("target", "N,T", TENON_DTYPE_BIT(TENON_INT64), "token in [0, V), or ignore_index")};
  }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor logits = tenon::flatten(inputs[0], 0, 1);
    const tenon::Tensor target = tenon::flatten(inputs[1], 0, 1);
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

TENON_PLUGIN("sequence_cross_entropy", "0.1.0", "Apache-2.0", "Softmax cross entropy over the tokens of sequences.",
             tenon::loss<SequenceCrossEntropy>("sequence_cross_entropy",
                                               "softmax cross entropy, mean over the tokens that are not ignored"))

// Softmax cross entropy over class indices, as in torch.nn.functional.cross_entropy. Works for samples, pixels, and the
// tokens of sequences, which are flattened. Label smoothing: Szegedy et al., arXiv:1512.00567.
#include "plugins/losses/loss.h"

namespace {

using tenon::losses::ClassTargets;

class MeanCrossEntropy {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("label_smoothing", 0.0)
                .range("[0, 1)")
                .doc("label smoothing: fraction of the target that is spread evenly over all classes"),
            ClassTargets::ignore_index_param(), ClassTargets::class_weights_param()};
  }

  explicit MeanCrossEntropy(const tenon::Params& params)
      : label_smoothing_(params.number("label_smoothing")), targets_(params) {
    // A target with the weight 0 would still be smoothed, but in a batch of such targets there is nothing to divide by.
    if (label_smoothing_ > 0 && targets_.has_zero_weight()) {
      throw tenon::Error(
          TENON_INVALID_ARGUMENT,
          "class_weights has a 0 and label_smoothing is not 0, so the loss would depend on which targets are in one "
          "batch; expected weights above 0, or label_smoothing = 0; to ignore a class, use ignore_index");
    }
  }

  // Targets are counted on the host only if they are in host memory.
  bool is_capturable() const { return targets_.is_capturable(); }

 protected:
  // One operator computes the mean if it is known in advance that not all targets are ignored; with only ignored
  // targets it returns NaN. Otherwise the mean is computed from terms that are never NaN.
  tenon::LossResult compute(const tenon::Tensor& given_logits, const tenon::Tensor& target) const {
    const tenon::Tensor logits = tenon::losses::to_float(given_logits);
    const tenon::Tensor weights = targets_.class_weights(logits);
    const std::optional<int64_t> count = weights ? std::nullopt : targets_.count(target);
    if (count.value_or(0) > 0) {
      return tenon::LossResult(
          tenon::cross_entropy_loss(logits, target, TENON_REDUCTION_MEAN, targets_.ignore_index(), label_smoothing_),
          logits.checked_frame().make<double>({static_cast<double>(*count)}, {}));
    }
    const tenon::Tensor total = tenon::cross_entropy_loss(logits, target, TENON_REDUCTION_SUM, targets_.ignore_index(),
                                                          label_smoothing_, weights);
    return tenon::losses::mean_over(total, targets_.total_weight(target, weights));
  }

  const ClassTargets& targets() const { return targets_; }

 private:
  double label_smoothing_;
  ClassTargets targets_;
};

class CrossEntropy final : public MeanCrossEntropy {
 public:
  using MeanCrossEntropy::MeanCrossEntropy;

  std::vector<tenon::Port> ports() const { return tenon::losses::class_ports(); }
  static std::vector<std::pair<std::string, std::string>> usual_sources() { return {{"target", "label"}}; }

  std::vector<tenon::IndexInput> index_inputs() const { return targets().index_inputs("C"); }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    return compute(inputs[0], inputs[1]);
  }
};

class SequenceCrossEntropy final : public MeanCrossEntropy {
 public:
  using MeanCrossEntropy::MeanCrossEntropy;

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,T,V", TENON_ANY_FLOAT, "unnormalised log-probabilities of the vocabulary"),
            tenon::input("target", "N,T", TENON_DTYPE_BIT(TENON_INT64), "token in [0, V), or ignore_index")};
  }

  std::vector<tenon::IndexInput> index_inputs() const { return targets().index_inputs("V"); }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    return compute(tenon::flatten(inputs[0], 0, 1), tenon::flatten(inputs[1], 0, 1));
  }
};

}  // namespace

TENON_PLUGIN("cross_entropy", "0.1.0", "Apache-2.0", "Softmax cross entropy over class indices.",
             tenon::loss<CrossEntropy>("cross_entropy",
                                       "softmax cross entropy, mean over the targets that are not ignored"),
             tenon::loss<SequenceCrossEntropy>("sequence_cross_entropy",
                                               "softmax cross entropy, mean over the tokens that are not ignored"))

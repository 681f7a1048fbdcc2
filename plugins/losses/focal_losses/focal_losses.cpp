// Focal loss: Lin et al., "Focal Loss for Dense Object Detection", arXiv:1708.02002. Cross entropy in which a target
// with the probability p has the weight (1 - p)^gamma. binary_focal equals torchvision.ops.sigmoid_focal_loss.
#include "plugins/losses/loss.h"

namespace {

using tenon::Tensor;

tenon::Param gamma_param() {
  return tenon::param("gamma", 2.0)
      .range("[0, inf)")
      .doc("focusing parameter: larger values reduce the weight of easy targets; 0: cross entropy");
}

// share^gamma. For gamma below 1 the derivative at a share of 0 is infinite; 0 is used instead.
Tensor modulate(const Tensor& share, double gamma) {
  constexpr double kLeast = 1e-20;
  return tenon::pow(tenon::clamp_min(share, kLeast), gamma);
}

class Focal final {
 public:
  static std::vector<tenon::Param> schema() {
    return {gamma_param(), tenon::losses::ClassTargets::ignore_index_param(),
            tenon::losses::ClassTargets::class_weights_param()};
  }

  explicit Focal(const tenon::Params& params) : gamma_(params.number("gamma")), targets_(params) {}

  std::vector<tenon::Port> ports() const { return tenon::losses::class_ports(); }

  std::vector<tenon::IndexInput> index_inputs() const { return targets_.index_inputs("C"); }
  bool is_capturable() const { return targets_.is_capturable(); }

  tenon::LossResult forward(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const Tensor logits = tenon::losses::to_float(inputs[0]);
    const Tensor target = inputs[1];
    const Tensor weights = targets_.class_weights(logits);
    const Tensor index = tenon::unsqueeze(targets_.without_ignored(target), 1);
    const Tensor log_p = tenon::squeeze(tenon::gather(tenon::log_softmax(logits, 1), 1, index), 1);
    static const tenon::Op kExpm1("aten::expm1");
    const Tensor focal = log_p * modulate(-frame.call(kExpm1, {log_p}), gamma_);
    const Tensor weighted = weights ? focal * targets_.target_weights(target, weights) : focal;
    const Tensor total = -tenon::sum(tenon::masked_fill(weighted, targets_.are_ignored(target), 0));
    return tenon::losses::mean_over(total, targets_.total_weight(target, weights));
  }

 private:
  double gamma_;
  tenon::losses::ClassTargets targets_;
};

class BinaryFocal final {
 public:
  static std::vector<tenon::Param> schema() {
    return {gamma_param(), tenon::param("alpha", 0.25)
                               .range("[-1, 1]")
                               .doc("weight of a target of 1, from 0 to 1; a target of 0 has weight 1 - alpha; below "
                                    "0: both have weight 1")};
  }

  explicit BinaryFocal(const tenon::Params& params) : gamma_(params.number("gamma")), alpha_(params.number("alpha")) {}

  std::vector<tenon::Port> ports() const { return tenon::losses::binary_ports(); }

  bool is_capturable() const { return true; }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const Tensor logits = tenon::losses::to_float(inputs[0]);
    tenon::losses::require_binary(inputs[1]);
    const Tensor target = tenon::to_dtype(inputs[1], logits.dtype());
    const Tensor other = 1.0 - target;
    // Avoids 1 - sigmoid(logits), which rounds to 0 where sigmoid(-logits) is small.
    const Tensor miss = tenon::sigmoid(logits) * other + tenon::sigmoid(-logits) * target;
    const Tensor entropy = tenon::bce_with_logits(logits, target, TENON_REDUCTION_NONE);
    const Tensor focal = entropy * modulate(miss, gamma_);
    const Tensor weighted = alpha_ >= 0 ? focal * (target * alpha_ + other * (1 - alpha_)) : focal;
    return tenon::losses::mean_over(tenon::sum(weighted), logits.numel());
  }

 private:
  double gamma_;
  double alpha_;
};

}  // namespace

TENON_PLUGIN("focal_losses", "0.1.0", "Apache-2.0", "Focal losses.",
             tenon::loss<Focal>("focal", "focal loss over classes, mean over the targets that are not ignored"),
             tenon::loss<BinaryFocal>("binary_focal", "focal loss over binary logits, mean over all elements"),
             tenon::operators({"aten::expm1"}))

// Kullback-Leibler divergence of a prediction and a target distribution, as in
// torch.nn.KLDivLoss(reduction="batchmean"). With a temperature, and logits on both sides, it is the distillation loss:
// Hinton et al., "Distilling the Knowledge in a Neural Network", arXiv:1503.02531.
#include "plugins/losses/loss.h"

namespace {

using tenon::Tensor;

const tenon::Op kKlDiv("aten::kl_div");

class KlDivergence final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("prediction", "logits")
                .choices({"logits", "log_probabilities"})
                .doc("form of the prediction; logits are converted to log-probabilities over the classes"),
            tenon::param("target", "probabilities")
                .choices({"probabilities", "log_probabilities", "logits"})
                .doc("form of the target; use logits for the output of a teacher"),
            tenon::param("temperature", 1.0)
                .range("(0, inf)")
                .doc("divides the logits; the loss is multiplied by its square")};
  }

  explicit KlDivergence(const tenon::Params& params)
      : prediction_is_logits_(params.text("prediction") == "logits"),
        target_is_logits_(params.text("target") == "logits"),
        target_is_log_(params.text("target") != "probabilities"),
        temperature_(params.number("temperature")) {
    if (temperature_ != 1 && !prediction_is_logits_ && !target_is_logits_) {
      throw tenon::Error(TENON_INVALID_ARGUMENT,
                         "temperature is set, but it applies only to logits and neither prediction nor target are "
                         "logits; expected temperature = 1");
    }
  }

  std::vector<tenon::Port> ports() const {
    return {tenon::input("prediction", "N,C,...S", TENON_ANY_FLOAT,
                         "prediction for the classes, in the form of the parameter prediction"),
            tenon::input("target", "N,C,...S", TENON_ANY_FLOAT,
                         "target for the classes, in the form of the parameter target")};
  }

  bool is_capturable() const { return true; }

  tenon::LossResult forward(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const Tensor prediction = to_log_probabilities(inputs[0], prediction_is_logits_);
    const Tensor target = to_log_probabilities(inputs[1], target_is_logits_);
    const Tensor total =
        frame.call(kKlDiv, {prediction, target, int64_t{TENON_REDUCTION_SUM}}, {{"log_target", target_is_log_}});
    return tenon::losses::mean_over(total * (temperature_ * temperature_), inputs[0].shape()[0]);
  }

 private:
  Tensor to_log_probabilities(const Tensor& input, bool is_logits) const {
    const Tensor numbers = tenon::losses::to_float(input);
    if (!is_logits) return numbers;
    return tenon::log_softmax(temperature_ == 1 ? numbers : numbers / temperature_, 1);
  }

  bool prediction_is_logits_;
  bool target_is_logits_;
  bool target_is_log_;
  double temperature_;
};

}  // namespace

TENON_PLUGIN("kl_divergence", "0.1.0", "Apache-2.0", "Kullback-Leibler divergence, also for distillation.",
             tenon::loss<KlDivergence>(
                 "kl_divergence", "Kullback-Leibler divergence, sum over classes and positions, mean over samples"),
             tenon::operators({"aten::kl_div"}))

// Regression losses as in torch.nn.functional, each averaged over all elements. smooth_l1: Girshick, "Fast R-CNN",
// arXiv:1504.08083. huber: Huber, "Robust Estimation of a Location Parameter", 1964.
#include "plugins/losses/loss.h"

namespace {

class Distance {
 public:
  // ...S: the same further dimensions on both sides, so that nothing is broadcast unintentionally.
  std::vector<tenon::Port> ports() const {
    return {tenon::input("prediction", "N,...S", TENON_ANY_FLOAT, "predicted values"),
            tenon::input("target", "N,...S", TENON_ANY_FLOAT, "target values")};
  }
  bool is_capturable() const { return true; }

 protected:
  template <class Total>
  static tenon::LossResult mean_of(const tenon::Inputs& inputs, Total&& total) {
    return tenon::losses::mean_over(total(tenon::losses::to_float(inputs[0]), tenon::losses::to_float(inputs[1])),
                                    inputs[1].numel());
  }
};

template <auto kLoss>
class PlainDistance final : public Distance {
 public:
  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    return mean_of(inputs, [](const tenon::Tensor& prediction, const tenon::Tensor& target) {
      return kLoss(prediction, target, TENON_REDUCTION_SUM);
    });
  }
};

using Mse = PlainDistance<&tenon::mse_loss>;
using L1 = PlainDistance<&tenon::l1_loss>;

class SmoothL1 final : public Distance {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("beta", 1.0)
                .range("[0, inf)")
                .doc("error below which the loss is quadratic, 0.5 * error^2 / beta; 0: l1")};
  }

  explicit SmoothL1(const tenon::Params& params) : beta_(params.number("beta")) {}

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    return mean_of(inputs, [&](const tenon::Tensor& prediction, const tenon::Tensor& target) {
      // For this beta the derivative of the smooth L1 operator at an error of 0 is not 0.
      if (beta_ == 0) return tenon::l1_loss(prediction, target, TENON_REDUCTION_SUM);
      return tenon::smooth_l1_loss(prediction, target, TENON_REDUCTION_SUM, beta_);
    });
  }

 private:
  double beta_;
};

class Huber final : public Distance {
 public:
  static std::vector<tenon::Param> schema() {
    return {
        tenon::param("delta", 1.0)
            .range("(0, inf)")
            .doc("error below which the loss is quadratic, 0.5 * error^2; above, the loss is linear with slope delta")};
  }

  explicit Huber(const tenon::Params& params) : delta_(params.number("delta")) {}

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    return mean_of(inputs, [&](const tenon::Tensor& prediction, const tenon::Tensor& target) {
      return tenon::huber_loss(prediction, target, TENON_REDUCTION_SUM, delta_);
    });
  }

 private:
  double delta_;
};

}  // namespace

TENON_PLUGIN("regression_losses", "0.1.0", "Apache-2.0", "Regression losses.",
             tenon::loss<Mse>("mse", "squared error, mean over all elements"),
             tenon::loss<L1>("l1", "absolute error, mean over all elements"),
             tenon::loss<SmoothL1>("smooth_l1", "absolute error, quadratic below beta; mean over all elements"),
             tenon::loss<Huber>("huber", "squared error, linear above delta; mean over all elements"))

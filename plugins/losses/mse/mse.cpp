// Mean squared error, as torch.nn.functional.mse_loss computes it.
#include <tenon/plugin.hpp>

namespace {

class Mse final {
 public:
  // ...S: the same further dimensions on both sides, so that nothing broadcasts unnoticed.
  std::vector<tenon::Port> ports() const {
    return {tenon::input("prediction", "N,...S", TENON_ANY_FLOAT, "numbers that the model gives"),
            tenon::input("target", "N,...S", TENON_ANY_FLOAT, "what they should be")};
  }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    return {tenon::mse_loss(inputs[0], inputs[1]), static_cast<double>(inputs[1].numel())};
  }
};

}  // namespace

TENON_PLUGIN("mse", "0.1.0", "Apache-2.0", "Mean squared error.",
             tenon::loss<Mse>("mse", "squared difference of prediction and target, mean over all numbers"))

// A loss with a custom gradient: log(cosh(prediction - target)) with the derivative tanh.
#include <cmath>
#include <tenon/plugin.hpp>

namespace {

// cosh(d) overflows although its logarithm is small, and autograd would differentiate through the
// overflow. The value is therefore computed as |d| + log(1 + exp(-2|d|)) - log(2), and the
// derivative is explicit.
struct LogCoshFunction {
  static constexpr size_t outputs = 1;
  static constexpr size_t saved = 1;

  std::vector<tenon::Tensor> forward(const tenon::Frame&, const std::vector<tenon::Tensor>& inputs,
                                     std::vector<tenon::Tensor>& saved) const {
    const tenon::Tensor size = abs(inputs[0]);
    saved = {inputs[0]};
    return {size + softplus(size * -2.0) - std::log(2.0)};
  }

  std::vector<tenon::Tensor> backward(const tenon::Frame&, const std::vector<tenon::Tensor>& saved,
                                      const std::vector<tenon::Tensor>& gradients) const {
    return {gradients[0] * tanh(saved[0])};
  }
};

class LogCosh final {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("prediction", "N,...S", TENON_ANY_FLOAT),
            tenon::input("target", "N,...S", TENON_ANY_FLOAT)};
  }

  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor difference = inputs["prediction"] - inputs["target"];
    return {mean(tenon::apply(function_, {difference})[0]),
            static_cast<double>(difference.numel())};
  }

 private:
  LogCoshFunction function_;  // must live until backward has finished
};

}  // namespace

TENON_PLUGIN("log_cosh", "1.0.0", "MIT", "A loss that is quadratic near 0 and linear far from it.",
             tenon::loss<LogCosh>("log_cosh", "mean of log(cosh(prediction - target))"))

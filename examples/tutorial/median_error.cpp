// A metric over all samples: a median cannot be computed from sums over batches.
#include <algorithm>
#include <cmath>
#include <tenon/plugin.hpp>

namespace {

class MedianError final {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("prediction", "N,...S", TENON_ANY_FLOAT),
            tenon::input("target", "N,...S", TENON_ANY_FLOAT)};
  }
  // The host collects the rows of all batches and ranks. If sums are enough, a state such as
  // {"correct", TENON_INT64} is cheaper, as in accuracy.
  std::vector<tenon::State> states() const { return {tenon::rows("errors", TENON_FLOAT32)}; }
  std::vector<tenon::MetricValue> values() const {
    return {tenon::lower_is_better("median_error", "median of |prediction - target|")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const tenon::Tensor errors = abs(inputs["prediction"] - inputs["target"]);
    frame.append(0, flatten(to_dtype(errors, TENON_FLOAT32)));
  }

  double compute(const tenon::Frame& frame) const {
    const tenon::Tensor state = frame.tensor(0);
    std::vector<float> errors(state.data<float>(), state.data<float>() + state.numel());
    if (errors.empty()) return std::nan("");
    const auto middle = errors.begin() + static_cast<std::ptrdiff_t>(errors.size() / 2);
    std::nth_element(errors.begin(), middle, errors.end());
    return *middle;
  }
};

}  // namespace

TENON_PLUGIN("median_error", "1.0.0", "MIT", "Medians.",
             tenon::metric<MedianError>("median_error", "median of the absolute errors"))

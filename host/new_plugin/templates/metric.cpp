// A metric: the mean probability that the model gives to the right class.
// The header tenon/metric.hpp describes all functions of a metric.
#include <cmath>
#include <tenon/plugin.hpp>

namespace {

class MyName final {
 public:
  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,C", TENON_ANY_FLOAT, "scores of the classes"),
            tenon::input("target", "N", TENON_DTYPE_BIT(TENON_INT64), "class in [0, C)")};
  }
  static std::vector<std::pair<std::string, std::string>> usual_sources() { return {{"target", "label"}}; }

  // The host refuses a batch with another class, before it is copied to a GPU.
  std::vector<tenon::IndexInput> index_inputs() const { return {tenon::index_below("C", "target")}; }

  // The host clears these at the start of a validation, and adds up those of several processes.
  std::vector<tenon::State> states() const { return {{"sum", TENON_FLOAT64}, {"total", TENON_INT64}}; }

  // The names in the history: validation/my_name.
  std::vector<tenon::MetricValue> values() const {
    return {tenon::higher_is_better("my_name", "mean probability of the right class, in [0, 1]")};
  }

  void update(const tenon::Frame& frame, const tenon::Inputs& inputs) const {
    const tenon::Tensor target = unsqueeze(inputs["target"], 1);
    const tenon::Tensor probabilities = softmax(to_dtype(inputs["logits"], TENON_FLOAT64), 1);
    frame.tensor(kSum) += sum(gather(probabilities, 1, target));
    frame.tensor(kTotal) += target.numel();
  }

  // Called once, at the end of a validation.
  double compute(const tenon::Frame& frame) const {
    const double total = frame.tensor(kTotal).number();
    return total > 0 ? frame.tensor(kSum).number() / total : std::nan("");
  }

 private:
  enum : uint64_t { kSum, kTotal };  // in the order of states()
};

}  // namespace

TENON_PLUGIN("my_name", "0.1.0", "MIT", "The metric my_name.",
             tenon::metric<MyName>("my_name", "mean probability of the right class"))

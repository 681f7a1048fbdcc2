// A loss: cross entropy that weighs the error of each sample more, PolyLoss of Leng et al., arXiv:2204.12511.
// The header tenon/loss.hpp describes all functions of a loss.
#include <tenon/plugin.hpp>

namespace {

class MyName final {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("epsilon", 1.0).range("[-1, inf)").doc("weight of the error; 0: cross entropy")};
  }

  explicit MyName(const tenon::Params& params) : epsilon_(params.number("epsilon")) {}

  std::vector<tenon::Port> ports() const {
    return {tenon::input("logits", "N,C", TENON_ANY_FLOAT, "scores of the classes"),
            tenon::input("target", "N", TENON_DTYPE_BIT(TENON_INT64), "class in [0, C)")};
  }
  static std::vector<std::pair<std::string, std::string>> usual_sources() { return {{"target", "label"}}; }

  // The host refuses a batch with another class, before it is copied to a GPU.
  std::vector<tenon::IndexInput> index_inputs() const { return {tenon::index_below("C", "target")}; }

  // Returns a mean and the number of samples that it was taken over. The operators have autograd.
  tenon::LossResult forward(const tenon::Frame&, const tenon::Inputs& inputs) const {
    const tenon::Tensor target = unsqueeze(inputs["target"], 1);
    const tenon::Tensor log_probability = gather(log_softmax(inputs["logits"], 1), 1, target);
    const tenon::Tensor error = 1.0 - exp(log_probability);
    return {mean(error * epsilon_ - log_probability), static_cast<double>(target.numel())};
  }

 private:
  double epsilon_;
};

}  // namespace

TENON_PLUGIN("my_name", "0.1.0", "MIT", "The loss my_name.",
             tenon::loss<MyName>("my_name", "mean of epsilon * (1 - p) - log(p), p: probability of the target"))

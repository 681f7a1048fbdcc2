// A native model: one linear layer.
#include <torch/nn/modules/linear.h>
#include <tenon/torch.hpp>

namespace {

class Linear final : public torch::nn::Module {
 public:
  static std::vector<tenon::Param> schema() {
    return {tenon::param("inputs", 2).range("[1, inf)").doc("number of input features"),
            tenon::param("outputs", 2).range("[1, inf)").doc("number of outputs")};
  }

  explicit Linear(const tenon::Params& params)
      : inputs_(params.integer("inputs")), outputs_(params.integer("outputs")) {
    layer_ = register_module("layer", torch::nn::Linear(inputs_, outputs_));
  }

  std::vector<tenon::Port> ports() const {
    return {tenon::input("point", "N," + std::to_string(inputs_), TENON_ANY_FLOAT),
            tenon::output("logits", "N," + std::to_string(outputs_), TENON_ANY_FLOAT)};
  }

  torch::Tensor forward(torch::Tensor point) { return layer_(point); }

 private:
  int64_t inputs_;
  int64_t outputs_;
  torch::nn::Linear layer_ = nullptr;
};

}  // namespace

TENON_PLUGIN("linear", "1.0.0", "MIT", "A linear layer.",
             tenon::torch_model<Linear>("linear", "one linear layer"))

#include "tests/examples/opened_cuda_loss.h"

#include <torch/types.h>

#include "framework/plugins/calls/host_table.h"
#include "framework/plugins/loading/catalogue.h"
#include "framework/plugins/tensors/tensor_functions.h"
#include "tests/test_folder.h"

namespace tenon::examples {

std::filesystem::path cuda_loss_file() { return build_folder() / "examples/cuda_loss/cuda_loss.so"; }

plugins::Loss open_cuda_loss(int64_t ignore_index) {
  static const plugins::Catalogue catalogue = [] {
    plugins::install_libtorch();
    return plugins::Catalogue::open({cuda_loss_file()}, plugins::host_table(), plugins::torch_build());
  }();
  config::ComponentPlan plan;
  plan.use = "fused_cross_entropy";
  plan.params = {{"ignore_index", ignore_index}};
  return plugins::Loss(catalogue.find(config::ComponentKind::loss, plan.use), {plan, plan.use, 1.0});
}

ComputedLoss compute(const plugins::Loss& loss, const at::Tensor& logits, const at::Tensor& target) {
  const at::Tensor input = logits.detach().clone().requires_grad_(true);
  const auto result = loss.forward({.training = true}, {input, target});
  result.loss.backward();
  return {result.loss.detach(), result.weight_tensor, input.grad()};
}

}  // namespace tenon::examples

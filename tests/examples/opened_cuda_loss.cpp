#include "tests/examples/opened_cuda_loss.h"

#include <torch/types.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/tensors/tensor_functions.h"
#include "tests/test_folder.h"

namespace tenon::examples {

std::filesystem::path cuda_loss_file() { return build_folder() / "examples/cuda_loss/cuda_loss.so"; }

components::Loss open_cuda_loss(int64_t ignore_index) {
  static const components::Catalogue catalogue = [] {
    components::install_libtorch();
    return components::Catalogue::open({cuda_loss_file()}, components::host_table(), components::torch_build());
  }();
  config::ComponentPlan plan;
  plan.use = "fused_cross_entropy";
  plan.params = {{"ignore_index", ignore_index}};
  return components::Loss(catalogue.find(config::ComponentKind::loss, plan.use), {plan, plan.use, 1.0});
}

ComputedLoss compute(const components::Loss& loss, const at::Tensor& logits, const at::Tensor& target) {
  const at::Tensor input = logits.detach().clone().requires_grad_(true);
  const auto result = loss.forward({.training = true}, {input, target});
  result.loss.backward();
  return {result.loss.detach(), result.weight_tensor, input.grad()};
}

}  // namespace tenon::examples

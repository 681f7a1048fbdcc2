#include "framework/pipeline/checks/check_registered.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>
#include <torch/types.h>

#include <unordered_set>
#include <vector>

#include "framework/plugins/tensors/tensor_handles.h"
#include "framework/support/error.h"

namespace tenon::pipeline {

namespace {

// The leaf tensors of the graph, where gradients accumulate.
std::vector<at::Tensor> find_leaves(const at::Tensor& total) {
  std::vector<at::Tensor> leaves;
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open{total.grad_fn().get()};
  while (!open.empty()) {
    torch::autograd::Node* node = open.back();
    open.pop_back();
    if (!node || !seen.insert(node).second) continue;
    if (const auto* end = dynamic_cast<const torch::autograd::AccumulateGrad*>(node)) leaves.push_back(end->variable);
    for (const torch::autograd::Edge& edge : node->next_edges()) open.push_back(edge.function.get());
  }
  return leaves;
}

}  // namespace

void check_registered(const Training& training, const at::Tensor& total) {
  std::unordered_set<const c10::TensorImpl*> known;
  for (const plugins::NamedTensor& named : training.model.tensors()) known.insert(named.tensor.unsafeGetTensorImpl());
  for (const at::Tensor& leaf : find_leaves(total))
    if (!known.contains(leaf.unsafeGetTensorImpl()))
      throw support::Error(support::ErrorKind::plugin,
                           training.plan->model.place + ": " + training.model.component().describe() +
                               ": a tensor that requires grad, " + plugins::describe(leaf) +
                               ", is used but not registered: it would neither be trained nor saved; expected every "
                               "weight to be declared in build, or in a torch::nn::Module by register_module and "
                               "register_parameter");
}

}  // namespace tenon::pipeline

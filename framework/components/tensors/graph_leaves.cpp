#include "framework/components/tensors/graph_leaves.h"

#include <torch/csrc/autograd/functions/accumulate_grad.h>

#include <unordered_set>

#include "framework/components/tensors/tensor_handles.h"

namespace tenon::components {

namespace {

// The tensors where gradients accumulate.
std::vector<at::Tensor> find_leaves(const at::Tensor& output) {
  std::vector<at::Tensor> leaves;
  std::unordered_set<const torch::autograd::Node*> seen;
  std::vector<torch::autograd::Node*> open{output.grad_fn().get()};
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

std::string find_unregistered(const at::Tensor& output, const std::vector<at::Tensor>& known) {
  std::unordered_set<const c10::TensorImpl*> registered;
  for (const at::Tensor& tensor : known) registered.insert(tensor.unsafeGetTensorImpl());
  for (const at::Tensor& leaf : find_leaves(output))
    if (!registered.contains(leaf.unsafeGetTensorImpl()))
      return "a tensor that requires grad, " + describe(leaf) +
             ", is used but not registered: it would neither be trained nor saved; expected every weight to be "
             "declared in build, or in a torch::nn::Module by register_module and register_parameter";
  return "";
}

}  // namespace tenon::components

#include <ATen/ops/_fused_sgd.h>
#include <ATen/ops/zeros_like.h>

#include "framework/optimization/update_rule.h"
#include "framework/support/compute/tensor_lists.h"

namespace tenon::optimization {
namespace {

using StateNames = std::vector<const char*>;

class Sgd final : public UpdateRule {
 public:
  explicit Sgd(const config::SgdPlan& plan)
      : UpdateRule(plan.momentum != 0 ? StateNames{"momentum_buffer"} : StateNames{}), plan_(plan) {}

  // Without dampening, a zero momentum buffer becomes the first gradient. With dampening, the kernel must know that the
  // momentum starts, which an undefined buffer indicates.
  at::Tensor make_state(size_t index, const at::Tensor& parameter) const override {
    return plan_.dampening == 0 ? make_zeros(index, parameter) : at::Tensor();
  }

  void update(UpdateLists& lists, const UpdateRates& rates, const at::Tensor& skip) override {
    if (plan_.momentum == 0 || plan_.dampening == 0 || has_begun(lists.state.front())) {
      call_kernel(lists.tensors, lists.gradients, buffers_of(lists), rates, Momentum::continues, skip);
    } else if (!skip.defined() || skip.item<float>() == 0) {
      begin(lists, rates);
    }
  }

 private:
  enum class Momentum { begins, continues };

  static bool has_begun(const std::vector<at::Tensor>& buffers) {
    for (const at::Tensor& buffer : buffers)
      if (!buffer.defined()) return false;
    return true;
  }

  at::TensorList buffers_of(const UpdateLists& lists) const {
    return plan_.momentum == 0 ? at::TensorList() : at::TensorList(lists.state.front());
  }

  // The kernel takes a single is-first-step flag for all its tensors, but parameters may get their first gradients in
  // different steps. If both kinds are present, it is called twice.
  void begin(UpdateLists& lists, const UpdateRates& rates) {
    std::vector<at::Tensor> tensors[2], gradients[2], buffers[2];
    for (size_t i = 0; i < lists.tensors.size(); ++i) {
      at::Tensor& buffer = lists.state.front()[i];
      const int begins = buffer.defined() ? 0 : 1;
      if (begins) buffer = at::zeros_like(lists.tensors[i]);
      tensors[begins].push_back(lists.tensors[i]);
      gradients[begins].push_back(lists.gradients[i]);
      buffers[begins].push_back(buffer);
    }
    call_kernel(tensors[1], gradients[1], buffers[1], rates, Momentum::begins, {});
    if (!tensors[0].empty()) call_kernel(tensors[0], gradients[0], buffers[0], rates, Momentum::continues, {});
  }

  void call_kernel(at::TensorList tensors, at::TensorList gradients, at::TensorList buffers, const UpdateRates& rates,
                   Momentum momentum, const at::Tensor& skip) {
    // LibTorch 2.11 skips most elements of 16-bit tensors on the CPU (github.com/pytorch/pytorch/issues/191763).
    if (tensors.front().is_cpu() && tensors.front().element_size() == 2) {
      const std::vector<at::Tensor> wide = floats_of(tensors), wide_buffers = floats_of(buffers);
      call_kernel(wide, floats_of(gradients), wide_buffers, rates, momentum, skip);
      support::copy_values(tensors.vec(), wide);
      support::copy_values(buffers.vec(), wide_buffers);
      return;
    }
    const double kept = plan_.momentum == 0 ? 0 : rates.momentum.value_or(plan_.momentum);
    at::_fused_sgd_(tensors, gradients, buffers, rates.weight_decay, kept, rates.learning_rate, plan_.dampening,
                    plan_.nesterov, /*maximize=*/false,
                    /*is_first_step=*/momentum == Momentum::begins, /*grad_scale=*/{},
                    skip.defined() ? std::optional(skip) : std::nullopt);
  }

  static std::vector<at::Tensor> floats_of(at::TensorList tensors) {
    std::vector<at::Tensor> floats;
    for (const at::Tensor& tensor : tensors) floats.push_back(tensor.to(at::kFloat));
    return floats;
  }

  config::SgdPlan plan_;
};

}  // namespace

std::unique_ptr<UpdateRule> make_sgd(const config::SgdPlan& plan) { return std::make_unique<Sgd>(plan); }

}  // namespace tenon::optimization

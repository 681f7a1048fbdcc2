#include "framework/distributed/collectives/batch_norm_kernel.h"

#include <ATen/ops/batch_norm_native.h>
#include <torch/library.h>
#include <torch/types.h>

#include <vector>

namespace tenon::distributed {

namespace {

bool is_frozen(const std::optional<at::Tensor>& running_mean) {
  const std::unordered_set<const void*>& frozen = batch_norm_hooks().frozen;
  return !frozen.empty() && running_mean && running_mean->defined() && frozen.contains(running_mean->const_data_ptr());
}

at::Tensor batch_norm(const at::Tensor& input, const std::optional<at::Tensor>& weight,
                      const std::optional<at::Tensor>& bias, const std::optional<at::Tensor>& running_mean,
                      const std::optional<at::Tensor>& running_variance, bool training, double momentum, double epsilon,
                      bool cudnn_enabled) {
  const bool uses_batch = training && !is_frozen(running_mean);
  const auto normalise = batch_norm_hooks().normalise;
  if (!uses_batch || !normalise)
    return at::native::batch_norm(input, weight, bias, running_mean, running_variance, uses_batch, momentum, epsilon,
                                  cudnn_enabled);
  const at::Tensor none;
  return normalise(input, weight.value_or(none), bias.value_or(none), running_mean.value_or(none),
                   running_variance.value_or(none), momentum, epsilon);
}

class Kernel {
 public:
  Kernel() {
    for (const auto key : {c10::DispatchKey::AutogradCPU, c10::DispatchKey::AutogradCUDA}) {
      libraries_.push_back(
          std::make_unique<torch::Library>(torch::Library::IMPL, "aten", key, __FILE__, uint32_t{__LINE__}));
      libraries_.back()->impl("batch_norm", TORCH_FN(batch_norm));
    }
  }

 private:
  std::vector<std::unique_ptr<torch::Library>> libraries_;
};

}  // namespace

BatchNormHooks& batch_norm_hooks() {
  static BatchNormHooks hooks;
  return hooks;
}

std::shared_ptr<void> install_batch_norm_kernel() {
  static std::weak_ptr<Kernel> installed;
  std::shared_ptr<Kernel> kernel = installed.lock();
  if (!kernel) installed = kernel = std::make_shared<Kernel>();
  return kernel;
}

}  // namespace tenon::distributed

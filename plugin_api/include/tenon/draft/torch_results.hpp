// Results of a native model, see results.h. A torch::nn::Module defines results() as in results.hpp, and
//
//   // `outputs`: those of forward. Returns the results in the order of results().
//   std::vector<tenon::draft::TorchResultValue> compute_results(const std::vector<torch::Tensor>& outputs) const;
//
// and is registered with tenon::draft::torch_model_with_results<T>("id", "one line").
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../torch.hpp"
#include "results.hpp"

namespace tenon::draft {

struct TorchResultValue {
  torch::Tensor values;        // [N, ...], or [N, K, ...] for a list
  torch::Tensor lengths = {};  // for a list: int64 [N], at most K
};

namespace detail {

struct TENON_HIDDEN ComputeTorchResults {
  template <class T>
  static void compute(const T& model, const tenon_frame* frame, tenon_tensor* const* outputs, uint64_t output_count,
                      tenon_tensor** values, tenon_tensor** lengths, uint64_t result_count) {
    const std::vector<TorchResultValue> computed =
        model.compute_results(tenon::detail::unwrap_all(outputs, output_count));
    require_results(computed.size(), result_count);
    for (size_t i = 0; i < computed.size(); ++i) {
      values[i] = tenon::detail::wrap_in_frame(computed[i].values, frame);
      lengths[i] = tenon::detail::wrap_in_frame(computed[i].lengths, frame);
    }
  }
};

}  // namespace detail

// Registers T, a torch::nn::Module, as the model `id`.
template <class T>
Component torch_model_with_results(std::string id, std::string doc) {
  return detail::add_results<tenon::detail::TorchModelInstance<T>, detail::ComputeTorchResults>(
      torch_model<T>(std::move(id), std::move(doc)));
}

}  // namespace tenon::draft

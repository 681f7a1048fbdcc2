#include "framework/components/tensors/host_extensions.h"

#include <torch/types.h>

#include <algorithm>
#include <cstring>
#include <vector>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/run_view.h"
#include "framework/components/tensors/tensor_handles.h"

namespace tenon::components {

namespace {

constexpr uint32_t kAllStatistics = TENON_STATISTIC_NORM | TENON_STATISTIC_MEAN | TENON_STATISTIC_ABS_MAX |
                                    TENON_STATISTIC_ZERO_SHARE | TENON_STATISTIC_NON_FINITE;

const TrainedTensors* find_tensors(const tenon_run* run) { return run ? RunView::of(run).tensors : nullptr; }

tenon_status refuse_without_tensors() {
  return fail(TENON_UNSUPPORTED, "run-tensors: nothing is trained here, or distributed.shard divides the weights");
}

tenon_status count(const tenon_run* run, uint64_t* out) {
  const TrainedTensors* tensors = find_tensors(run);
  if (!tensors || !out) return refuse_without_tensors();
  *out = tensors->size();
  return TENON_OK;
}

tenon_status tensor(const tenon_run* run, uint64_t index, tenon_run_tensor* out) {
  const TrainedTensors* tensors = find_tensors(run);
  if (!tensors) return refuse_without_tensors();
  if (!out || out->size < sizeof out->size || index >= tensors->size())
    return fail(TENON_INVALID_ARGUMENT,
                "run-tensors: the index is {} of {} tensors, or the result is null or its size is not set", index,
                tensors->size());
  const tenon_run_tensor found{out->size, to_tenon(tensors->name(index)), tensors->value(index),
                               tensors->gradient(index)};
  std::memcpy(out, &found, std::min<uint64_t>(out->size, sizeof found));
  return TENON_OK;
}

tenon_status copy(const tenon_tensor* handle, tenon_tensor** out) {
  if (!handle || !out) return fail(TENON_INVALID_ARGUMENT, "copy: a null tensor or result");
  return catch_errors("copy", TENON_FAILED, [&] {
    const at::NoGradGuard no_grad;
    at::Tensor made = to_tensor(handle).detach().clone();
    *out = reinterpret_cast<tenon_tensor*>(made.unsafeReleaseTensorImpl());
    return TENON_OK;
  });
}

// The tensor in a precision that is sufficient for sums over its elements.
at::Tensor prepare(const tenon_tensor* handle, const tenon_tensor* minus) {
  at::Tensor tensor = to_tensor(handle).detach();
  if (minus) tensor = tensor - to_tensor(minus).detach();
  const at::ScalarType type = tensor.scalar_type();
  return type == at::kHalf || type == at::kBFloat16 || !at::isFloatingType(type) ? tensor.to(at::kFloat) : tensor;
}

at::Tensor compute(const at::Tensor& tensor, uint32_t statistic) {
  switch (statistic) {
    case TENON_STATISTIC_NORM: return at::linalg_vector_norm(tensor, 2);
    case TENON_STATISTIC_MEAN: return tensor.mean();
    case TENON_STATISTIC_ABS_MAX: return tensor.numel() > 0 ? tensor.abs().amax() : tensor.sum();
    case TENON_STATISTIC_ZERO_SHARE: return (tensor == 0).sum().to(at::kDouble) / static_cast<double>(tensor.numel());
    default: return tensor.isfinite().logical_not().sum();
  }
}

tenon_status statistics(tenon_tensor* const* tensors, tenon_tensor* const* minus, uint64_t count, uint32_t requested,
                        double* values) {
  if (requested == 0 || (requested & ~kAllStatistics) != 0)
    return fail(TENON_INVALID_ARGUMENT, "statistics: the requested set is {}; expected one or more TENON_STATISTIC_...",
                requested);
  if (count == 0) return TENON_OK;
  if (!tensors || !values || std::find(tensors, tensors + count, nullptr) != tensors + count)
    return fail(TENON_INVALID_ARGUMENT, "statistics: a null tensor or result");
  return catch_errors("statistics", TENON_FAILED, [&] {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> results;
    for (uint64_t i = 0; i < count; ++i) {
      const at::Tensor tensor = prepare(tensors[i], minus ? minus[i] : nullptr);
      for (uint32_t statistic = 1; statistic <= requested; statistic <<= 1)
        if ((requested & statistic) != 0)
          results.push_back(
              compute(tensor, statistic).to(results.empty() ? tensor.device() : results.front().device(), at::kDouble));
    }
    const at::Tensor read = at::stack(results).cpu();
    std::memcpy(values, read.const_data_ptr(), read.nbytes());
    return TENON_OK;
  });
}

constexpr tenon_run_tensors kRunTensors{sizeof(tenon_run_tensors), count, tensor, copy, statistics};

}  // namespace

const tenon_run_tensors& run_tensors_extension() { return kRunTensors; }

}  // namespace tenon::components

#include "framework/pipeline/evaluation/combine_metrics.h"

#include <torch/types.h>

namespace tenon::pipeline {

namespace {

distributed::Reduction to_reduction(uint32_t reduction) {
  switch (reduction) {
    case TENON_REDUCE_MAX: return distributed::Reduction::maximum;
    case TENON_REDUCE_MIN: return distributed::Reduction::minimum;
    default: return distributed::Reduction::sum;
  }
}

// Gloo does not support all integer dtypes.
at::ScalarType carried_as(at::ScalarType dtype) {
  return at::isIntegralType(dtype, /*includeBool=*/true) ? at::kLong : dtype;
}

}  // namespace

void combine_states(plugins::Metric& metric, distributed::ProcessGroup& group) {
  metric.combine([&group](uint32_t reduction, double initial, const at::Tensor& state) {
    at::Tensor carried = state.to(carried_as(state.scalar_type()), /*non_blocking=*/false, /*copy=*/true);
    if (reduction == TENON_REDUCE_CONCATENATE) return group.concatenate(carried).to(state.scalar_type());
    // Every rank started with the initial value; the sum must contain it once.
    if (reduction == TENON_REDUCE_SUM && initial != 0 && group.rank() > 0) carried.sub_(initial);
    group.reduce(to_reduction(reduction), carried);
    return carried.to(state.scalar_type());
  });
}

}  // namespace tenon::pipeline

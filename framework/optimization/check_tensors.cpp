#include "framework/optimization/check_tensors.h"

#include <sstream>

#include <ATen/ops/empty_like.h>

#include "framework/support/diagnostics/error.h"

namespace tenon::optimization {
namespace {

using support::Error;
using support::ErrorKind;

// Strides are irrelevant in dimensions with a single element.
bool same_layout(const at::Tensor& a, const at::Tensor& b) {
  for (int64_t d = 0; d < a.dim(); ++d)
    if (a.size(d) > 1 && a.stride(d) != b.stride(d)) return false;
  return true;
}

}  // namespace

void check_parameter(const NamedTensor& parameter) {
  const at::Tensor& tensor = parameter.tensor;
  if (!tensor.is_floating_point())
    throw Error(ErrorKind::plugin, "parameter " + parameter.name + ": its dtype is " +
                                       c10::toString(tensor.scalar_type()) +
                                       "; expected a floating-point one; register it as a buffer");
  if (!tensor.is_non_overlapping_and_dense()) {
    std::ostringstream found;
    found << "parameter " << parameter.name << ": a view of shape " << tensor.sizes() << " with strides "
          << tensor.strides()
          << "; expected a tensor without gaps or overlaps in memory; register its contiguous() copy";
    throw Error(ErrorKind::plugin, found.str());
  }
}

at::Tensor laid_out_as(const NamedTensor& parameter, const at::Tensor& gradient) {
  if (gradient.layout() != c10::kStrided)
    throw Error(ErrorKind::plugin,
                "parameter " + parameter.name +
                    ": its gradient is sparse; the optimizers take dense gradients; build the layer with "
                    "sparse = false");
  if (same_layout(parameter.tensor, gradient)) return gradient;
  return at::empty_like(parameter.tensor).copy_(gradient);
}

}  // namespace tenon::optimization

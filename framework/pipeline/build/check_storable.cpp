#include "framework/pipeline/build/check_storable.h"

#include <torch/types.h>

#include <sstream>

#include "framework/artifacts/checkpoint/tensor_view.h"
#include "framework/components/calls/ports.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

namespace {

std::string describe_dtype(at::ScalarType type) {
  const int32_t dtype = components::to_dtype(type);
  return dtype == TENON_DTYPE_NONE ? c10::toString(type) : components::dtype_name(dtype);
}

std::string describe_stored_dtypes() {
  uint64_t stored = 0;
  for (int32_t dtype = TENON_UINT8; dtype <= TENON_COMPLEX128; ++dtype)
    if (artifacts::find_stored_type(dtype)) stored |= TENON_DTYPE_BIT(dtype);
  return components::describe_dtypes(stored);
}

}  // namespace

void check_storable(const std::vector<components::NamedTensor>& tensors, const std::string& owner) {
  for (const components::NamedTensor& named : tensors) {
    const auto refuse = [&](const std::string& what) {
      throw support::Error(support::ErrorKind::plugin, "{}: the tensor {}: {}", owner,
                           artifacts::quote_name(named.name), what);
    };
    const std::string hint = "; convert it, or do not register it with the model";
    if (const auto error = artifacts::find_name_error(named.name))
      refuse(*error + "; expected another name in UTF-8, such as hidden.0.weight");
    if (named.tensor.layout() != at::kStrided) {
      std::ostringstream layout;
      layout << named.tensor.layout();
      refuse("its layout is " + layout.str() + ", which a checkpoint cannot hold; expected a dense tensor" + hint);
    }
    if (!artifacts::find_stored_type(components::to_dtype(named.tensor.scalar_type())))
      refuse(fmt::format("its dtype is {}, which a checkpoint cannot hold; expected {}{}",
                         describe_dtype(named.tensor.scalar_type()), describe_stored_dtypes(), hint));
  }
}

}  // namespace tenon::pipeline

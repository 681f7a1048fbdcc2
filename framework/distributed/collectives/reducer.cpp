#include "framework/distributed/collectives/reducer.h"

#include "framework/support/diagnostics/error.h"

namespace tenon::distributed {

at::ScalarType Reducer::wire_type(config::Compression compression) {
  return compression == config::Compression::fp16 ? at::kHalf : at::kBFloat16;
}

void Reducer::refuse_unused(const std::string& names) {
  throw support::Error(
      support::ErrorKind::configuration,
      "distributed: " + (names.empty() ? std::string("a parameter") : names) +
          " did not contribute to the losses of a step, so that other ranks would wait for its gradient; expected "
          "a gradient for every trainable parameter: set distributed.find_unused_parameters = true, or freeze it");
}

}  // namespace tenon::distributed

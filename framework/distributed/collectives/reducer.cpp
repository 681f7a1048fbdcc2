#include "framework/distributed/collectives/reducer.h"

#include <utility>

#include "framework/distributed/collectives/gradient_reducer.h"
#include "framework/distributed/collectives/owner_reducer.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::distributed {

at::ScalarType Reducer::wire_type(config::Compression compression) {
  return compression == config::Compression::fp16 ? at::kHalf : at::kBFloat16;
}

void Reducer::refuse_unused(const std::string& names) {
  throw support::Error(
      support::ErrorKind::configuration,
      "distributed: {} did not contribute to the losses of a step, so that other ranks would wait for its gradient; "
      "expected a gradient for every trainable parameter: set distributed.find_unused_parameters = true, or freeze it",
      names.empty() ? "a parameter" : names);
}

std::unique_ptr<Reducer> make_reducer(ProcessGroup& group, const config::DistributedSection& plan,
                                      std::vector<std::string> names, std::vector<at::Tensor> parameters,
                                      std::vector<int64_t> owners, Reducer::Buckets buckets) {
  if (group.is_single() || names.empty()) return std::make_unique<Reducer>();
  if (owners.empty())
    return std::make_unique<GradientReducer>(group, plan, std::move(names), std::move(parameters), std::move(buckets));
  return std::make_unique<OwnerReducer>(group, plan, std::move(names), std::move(parameters), std::move(owners));
}

}  // namespace tenon::distributed

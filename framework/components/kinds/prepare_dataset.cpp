#include "framework/components/kinds/prepare_dataset.h"

#include <tenon/prepare.h>

#include "framework/components/kinds/instance.h"

namespace tenon::components {

namespace {

const tenon_prepare* find_preparation(const Component& dataset) {
  const auto* const extension = extension_of<tenon_prepare>(dataset, TENON_PREPARE);
  return extension && extension->prepare ? extension : nullptr;
}

}  // namespace

bool has_preparation(const Component& dataset) { return find_preparation(dataset) != nullptr; }

void prepare_dataset(const Component& dataset, const config::ComponentPlan& plan) {
  const tenon_prepare* const extension = find_preparation(dataset);
  if (!extension) return;
  const tenon_params params(plan.params);
  call_plugin(
      dataset, "prepare.prepare", [&] { return extension->prepare(&host_table(), &params); },
      [&] { return plan.place; });
}

}  // namespace tenon::components

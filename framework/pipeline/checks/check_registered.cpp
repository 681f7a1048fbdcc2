#include "framework/pipeline/checks/check_registered.h"

#include <vector>

#include "framework/components/tensors/graph_leaves.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

void check_registered(const Training& training, const at::Tensor& total) {
  std::vector<at::Tensor> known;
  for (const components::NamedTensor& named : training.model.tensors()) known.push_back(named.tensor);
  if (const std::string unregistered = components::find_unregistered(total, known); !unregistered.empty())
    throw support::Error(support::ErrorKind::plugin, training.plan->model.place + ": " +
                                                         training.model.component().describe() + ": " + unregistered);
}

void warn_without_gradient(const Training& training) {
  constexpr int64_t kNamed = 3;
  std::string names;
  int64_t count = 0;
  for (const components::NamedTensor& named : training.model.tensors()) {
    if (!named.trainable || !named.tensor.requires_grad() || named.tensor.grad().defined()) continue;
    if (count++ < kNamed) names += (names.empty() ? "" : ", ") + named.name;
  }
  if (count == 0) return;
  support::log_warning(training.plan->model.place + ": " + training.model.component().describe() +
                       ": no loss depends on " + support::format_count(count, "parameter") + " (" + names +
                       (count > kNamed ? ", ..." : "") +
                       ") in step 1, so they are not trained; look for detach() or an unused layer in forward, or "
                       "freeze them: [[optimizer.group]] with frozen = true");
}

}  // namespace tenon::pipeline

#include "framework/config/resolve/used_components.h"

namespace tenon::config {

std::vector<ComponentName> used_components(const RunPlan& plan) {
  std::vector<ComponentName> used{{ComponentKind::model, plan.model.use},
                                  {ComponentKind::dataset, plan.data.train.use}};
  for (const ScheduledDataset& later : plan.data.scheduled_train) used.push_back({ComponentKind::dataset, later.use});
  for (const NamedDataset& dataset : plan.data.validation) used.push_back({ComponentKind::dataset, dataset.use});
  for (const NamedDataset& dataset : plan.data.test) used.push_back({ComponentKind::dataset, dataset.use});
  for (const LossPlan& loss : plan.losses) used.push_back({ComponentKind::loss, loss.use});
  for (const MetricPlan& metric : plan.metrics) used.push_back({ComponentKind::metric, metric.use});
  for (const CallbackPlan& callback : plan.callbacks) used.push_back({ComponentKind::callback, callback.use});
  return used;
}

}  // namespace tenon::config

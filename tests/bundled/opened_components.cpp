#include "tests/bundled/opened_components.h"

#include <filesystem>
#include <map>
#include <memory>

#include <torch/types.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/tensors/tensor_functions.h"

namespace tenon::bundled {
namespace {

// Maps components that share a plugin to that plugin.
const std::map<std::string, std::string> kPluginOf = {
    {"average_precision", "ranking_metrics"},
    {"binary_average_precision", "ranking_metrics"},
    {"binary_dice", "dice_losses"},
    {"binary_focal", "focal_losses"},
    {"binary_precision_recall_f1", "confusion_metrics"},
    {"binary_roc_auc", "ranking_metrics"},
    {"bleu", "text_metrics"},
    {"confusion_matrix", "confusion_metrics"},
    {"dice", "dice_losses"},
    {"dice_score", "confusion_metrics"},
    {"focal", "focal_losses"},
    {"huber", "regression_losses"},
    {"iou", "confusion_metrics"},
    {"l1", "regression_losses"},
    {"mae", "regression_metrics"},
    {"mse", "regression_losses"},
    {"precision_recall_f1", "confusion_metrics"},
    {"r2", "regression_metrics"},
    {"rmse", "regression_metrics"},
    {"roc_auc", "ranking_metrics"},
    {"rouge_l", "text_metrics"},
    {"sequence_cross_entropy", "cross_entropy"},
    {"smooth_l1", "regression_losses"},
};

const components::Component& find(config::ComponentKind kind, const std::string& id) {
  static std::map<std::string, std::unique_ptr<components::Catalogue>> opened;
  const auto shared = kPluginOf.find(id);
  const std::string plugin = shared == kPluginOf.end() ? id : shared->second;
  std::unique_ptr<components::Catalogue>& catalogue = opened[plugin];
  if (!catalogue) {
    components::install_libtorch();
    const std::filesystem::path file = std::filesystem::path(TENON_BINARY_DIR "/plugins") / (plugin + ".so");
    catalogue = std::make_unique<components::Catalogue>(
        components::Catalogue::open({file}, components::host_table(), components::torch_build()));
  }
  return catalogue->find(kind, id);
}

config::ComponentPlan make_plan(const components::Component& component, const config::Values& params) {
  config::ComponentPlan plan;
  plan.use = component.schema.id;
  plan.params = params;
  for (const config::ParamSchema& param : component.schema.params) {
    if (param.default_value) plan.params.emplace(param.name, *param.default_value);
  }
  return plan;
}

}  // namespace

components::Model open_model(const std::string& id, const config::Values& params) {
  const components::Component& component = find(config::ComponentKind::model, id);
  return components::Model(component, make_plan(component, params));
}

components::Model build_model(const std::string& id, const config::Values& params) {
  components::Model model = open_model(id, params);
  model.build();
  return model;
}

components::Loss open_loss(const std::string& id, const config::Values& params) {
  const components::Component& component = find(config::ComponentKind::loss, id);
  return components::Loss(component, {make_plan(component, params), id, 1.0});
}

components::Metric open_metric(const std::string& id, const config::Values& params) {
  const components::Component& component = find(config::ComponentKind::metric, id);
  return components::Metric(component, {make_plan(component, params), id});
}

config::Values merged(config::Values params, const config::Values& changes) {
  for (const auto& [name, value] : changes) params[name] = value;
  return params;
}

at::Tensor numbers(const std::vector<int64_t>& shape, double scale) {
  const at::Tensor index = torch::arange(c10::multiply_integers(shape));
  const at::Tensor fifths = torch::floor_divide(index, 5);
  return ((index * index * 7 + index * 29 + fifths).remainder(101) - 50).to(torch::kDouble).div(scale).reshape(shape);
}

}  // namespace tenon::bundled

#include "tests/bundled/opened_components.h"

#include <filesystem>
#include <map>
#include <memory>

#include <torch/torch.h>

#include "framework/plugins/catalogue.h"
#include "framework/plugins/host_table.h"
#include "framework/plugins/tensor_functions.h"

namespace tenon::bundled {
namespace {

const plugins::Component& find(config::ComponentKind kind, const std::string& id) {
  static std::map<std::string, std::unique_ptr<plugins::Catalogue>> opened;
  std::unique_ptr<plugins::Catalogue>& catalogue = opened[id];
  if (!catalogue) {
    plugins::install_libtorch();
    const std::filesystem::path file = std::filesystem::path(TENON_BINARY_DIR "/plugins") / (id + ".so");
    catalogue = std::make_unique<plugins::Catalogue>(
        plugins::Catalogue::open({file}, plugins::host_table(), plugins::torch_build()));
  }
  return catalogue->find(kind, id);
}

config::ComponentPlan make_plan(const plugins::Component& component, const config::Values& params) {
  config::ComponentPlan plan;
  plan.use = component.schema.id;
  plan.params = params;
  for (const config::ParamSchema& param : component.schema.params) {
    if (param.default_value) plan.params.emplace(param.name, *param.default_value);
  }
  return plan;
}

at::Tensor places(const std::vector<int64_t>& shape, int64_t batch) {
  const int64_t count = c10::multiply_integers(shape);
  return torch::arange(count) + count * batch;
}

}  // namespace

plugins::Model open_model(const std::string& id, const config::Values& params) {
  const plugins::Component& component = find(config::ComponentKind::model, id);
  return plugins::Model(component, make_plan(component, params));
}

plugins::Loss open_loss(const std::string& id, const config::Values& params) {
  const plugins::Component& component = find(config::ComponentKind::loss, id);
  return plugins::Loss(component, {make_plan(component, params), id, 1.0});
}

plugins::Metric open_metric(const std::string& id, const config::Values& params) {
  const plugins::Component& component = find(config::ComponentKind::metric, id);
  return plugins::Metric(component, {make_plan(component, params), id});
}

at::Tensor numbers(const std::vector<int64_t>& shape, int64_t batch, double scale) {
  const at::Tensor index = places(shape, batch);
  const at::Tensor fifths = torch::floor_divide(index, 5);
  return ((index * index * 7 + index * 29 + fifths).remainder(101) - 50).to(torch::kDouble).div(scale).reshape(shape);
}

at::Tensor classes(const std::vector<int64_t>& shape, int64_t batch, int64_t first, int64_t end) {
  const at::Tensor index = places(shape, batch);
  const at::Tensor quarters = torch::floor_divide(index, 4);
  return (first + (index * index * 3 + quarters).remainder(end - first)).reshape(shape);
}

}  // namespace tenon::bundled

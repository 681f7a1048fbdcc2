#include "tests/sequences/opened_component.h"

#include <filesystem>
#include <map>
#include <memory>

#include "framework/plugins/catalogue.h"
#include "framework/plugins/host_table.h"
#include "framework/plugins/tensor_functions.h"

namespace tenon::sequences {

const plugins::Component& open_component(config::ComponentKind kind, const std::string& id) {
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

}  // namespace tenon::sequences

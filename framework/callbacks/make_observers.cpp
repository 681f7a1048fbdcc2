#include "framework/callbacks/make_observers.h"

#include <string>
#include <utility>

#include "framework/callbacks/filtered.h"
#include "framework/callbacks/plugin_callback.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/config/plan/flatten_plan.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::callbacks {

std::vector<std::unique_ptr<pipeline::Observer>> make_observers(const std::vector<components::Callback>& callbacks,
                                                                const std::vector<config::CallbackPlan>& plans,
                                                                const components::TrainedTensors* tensors,
                                                                const components::RunDescription* description) {
  TENON_CHECK(callbacks.size() == plans.size(), callbacks.size() << " callbacks, " << plans.size() << " plans");
  std::vector<std::unique_ptr<pipeline::Observer>> observers;
  for (size_t i = 0; i < callbacks.size(); ++i)
    observers.push_back(std::make_unique<Filtered>(std::make_unique<PluginCallback>(callbacks[i], tensors, description),
                                                   plans[i].filter));
  return observers;
}

std::unique_ptr<components::RunDescription> describe_run(const config::RunPlan& plan, const std::string& resumed_from,
                                                         bool is_temporary) {
  std::vector<std::pair<std::string, std::string>> settings;
  for (const auto& [key, node] : config::flatten_plan(config::format_run_plan(plan), "plan.toml")) {
    const std::string* const text = node.as_string();
    settings.emplace_back(key, text ? *text : config::describe(node));
  }
  return std::make_unique<components::RunDescription>(plan.run.name, resumed_from, is_temporary, std::move(settings));
}

}  // namespace tenon::callbacks

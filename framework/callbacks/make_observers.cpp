#include "framework/callbacks/make_observers.h"

#include <utility>

#include "framework/callbacks/filtered.h"
#include "framework/callbacks/plugin_callback.h"
#include "framework/support/check.h"

namespace tenon::callbacks {

std::vector<std::unique_ptr<pipeline::Observer>> make_observers(const std::vector<plugins::Callback>& callbacks,
                                                                const std::vector<config::CallbackPlan>& plans,
                                                                const plugins::TrainedTensors* tensors) {
  TENON_CHECK(callbacks.size() == plans.size(), callbacks.size() << " callbacks, " << plans.size() << " plans");
  std::vector<std::unique_ptr<pipeline::Observer>> observers;
  for (size_t i = 0; i < callbacks.size(); ++i)
    observers.push_back(
        std::make_unique<Filtered>(std::make_unique<PluginCallback>(callbacks[i], tensors), plans[i].filter));
  return observers;
}

}  // namespace tenon::callbacks

// Creates the observers for the callbacks of a run file.
#pragma once

#include <memory>
#include <vector>

#include "framework/config/run_plan.h"
#include "framework/pipeline/events.h"
#include "framework/plugins/callback.h"
#include "framework/plugins/trained_tensors.h"

namespace tenon::callbacks {

// One observer per callback, with the filter of its plan. REQUIRES: plans[i] belongs to callbacks[i]. Callbacks and
// tensors must outlive the observers; `tensors` may be null, see PluginCallback.
std::vector<std::unique_ptr<pipeline::Observer>> make_observers(const std::vector<plugins::Callback>& callbacks,
                                                                const std::vector<config::CallbackPlan>& plans,
                                                                const plugins::TrainedTensors* tensors);

}  // namespace tenon::callbacks

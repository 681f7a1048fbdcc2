// Creates the observers for the callbacks of a run file.
#pragma once

#include <memory>
#include <vector>

#include "framework/config/plan/run_plan.h"
#include "framework/pipeline/state/events.h"
#include "framework/plugins/calls/trained_tensors.h"
#include "framework/plugins/components/callback.h"

namespace tenon::callbacks {

// One observer per callback, with the filter of its plan. REQUIRES: plans[i] belongs to callbacks[i]. Callbacks and
// tensors must outlive the observers; `tensors` may be null, see PluginCallback.
std::vector<std::unique_ptr<pipeline::Observer>> make_observers(const std::vector<plugins::Callback>& callbacks,
                                                                const std::vector<config::CallbackPlan>& plans,
                                                                const plugins::TrainedTensors* tensors);

}  // namespace tenon::callbacks

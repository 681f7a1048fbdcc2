// Creates the observers for the callbacks of a run file.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/components/calls/run_view.h"
#include "framework/components/calls/trained_tensors.h"
#include "framework/components/kinds/callback.h"
#include "framework/config/plan/run_plan.h"
#include "framework/pipeline/state/events.h"

namespace tenon::callbacks {

// One observer per callback, with the filter of its plan. REQUIRES: plans[i] belongs to callbacks[i]. Callbacks,
// tensors and description must outlive the observers; the latter two may be null, see PluginCallback.
std::vector<std::unique_ptr<pipeline::Observer>> make_observers(
    const std::vector<components::Callback>& callbacks, const std::vector<config::CallbackPlan>& plans,
    const components::TrainedTensors* tensors, const components::RunDescription* description = nullptr);

// Describes a run for its callbacks. `plan`: as in plan.toml. `resumed_from`: the folder of the checkpoint, or empty.
std::unique_ptr<components::RunDescription> describe_run(const config::RunPlan& plan, const std::string& resumed_from,
                                                         bool is_temporary);

}  // namespace tenon::callbacks

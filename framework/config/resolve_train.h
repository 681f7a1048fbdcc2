// Resolves [train] to all its values.
#pragma once

#include "framework/config/diagnostics.h"
#include "framework/config/run_config.h"
#include "framework/config/run_plan.h"

namespace tenon::config {

// Adds errors for missing and contradictory keys.
TrainSection resolve_train(const TrainConfig& config, Determinism deterministic, Diagnostics& diagnostics);

}  // namespace tenon::config

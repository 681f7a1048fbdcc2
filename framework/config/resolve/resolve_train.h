// Resolves [train] to all its values.
#pragma once

#include "framework/config/file/run_config.h"
#include "framework/config/plan/run_plan.h"
#include "framework/config/toml/diagnostics.h"

namespace tenon::config {

// Adds errors for missing and contradictory keys.
TrainSection resolve_train(const TrainConfig& config, Determinism deterministic, Diagnostics& diagnostics);

}  // namespace tenon::config

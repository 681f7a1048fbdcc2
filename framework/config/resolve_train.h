// The [train] table of a plan.
#pragma once

#include "framework/config/mistakes.h"
#include "framework/config/run_config.h"
#include "framework/config/run_plan.h"

namespace tenon::config {

// What is missing or contradicts itself goes to the mistakes.
TrainSection resolve_train(const TrainConfig& config, Determinism deterministic, Mistakes& mistakes);

}  // namespace tenon::config

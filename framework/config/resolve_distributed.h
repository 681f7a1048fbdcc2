// Resolves [distributed] to all its values.
#pragma once

#include "framework/config/distributed_plan.h"
#include "framework/config/mistakes.h"
#include "framework/config/run_config.h"

namespace tenon::config {

DistributedSection resolve_distributed(const DistributedConfig& config, Mistakes& mistakes);

}  // namespace tenon::config

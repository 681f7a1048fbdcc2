// Resolves [distributed] to all its values.
#pragma once

#include "framework/config/diagnostics.h"
#include "framework/config/distributed_plan.h"
#include "framework/config/run_config.h"

namespace tenon::config {

DistributedSection resolve_distributed(const DistributedConfig& config, Diagnostics& diagnostics);

}  // namespace tenon::config

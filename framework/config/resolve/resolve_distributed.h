// Resolves [distributed] to all its values.
#pragma once

#include "framework/config/file/run_config.h"
#include "framework/config/plan/distributed_plan.h"
#include "framework/config/toml/diagnostics.h"

namespace tenon::config {

DistributedSection resolve_distributed(const DistributedConfig& config, Diagnostics& diagnostics);

}  // namespace tenon::config

// Which precisions a device has.
#pragma once

#include <c10/core/Device.h>

#include "framework/config/run_plan.h"

namespace tenon::precision {

// Throws Error(configuration) at `place` for a precision that the device lacks, naming those it has.
void require_supported(config::Precision precision, const c10::Device& device, const std::string& place);

}  // namespace tenon::precision

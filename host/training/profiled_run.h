// What the commands that measure training steps share.
#pragma once

#include <cstdint>
#include <string>

#include "framework/config/plan/run_plan.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::host {

// Prepares the plan for one batch per step and only training data. batch_size: 0 keeps that of the plan.
void prepare_profile(config::RunPlan& plan, int64_t batch_size);

std::string describe_device(const support::ComputeDevice& device);

// Prints 1814073344 as "1.814 G".
std::string format_scaled(double number);

// Prints 0.0125 as "12.5 ms".
std::string format_time(double seconds);

}  // namespace tenon::host

// The memory format of images and of the weights of convolutions.
#pragma once

#include <c10/core/Device.h>

#include <vector>

#include "framework/components/kinds/model.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::pipeline {

// Whether a tensor has four dimensions, as the weights of 2-d convolutions have.
bool has_convolutions(const std::vector<components::NamedTensor>& tensors);

// Returns the format of the plan, or if that is "auto": channels_last for models with 2-d convolutions that do not need
// contiguous tensors, on a CUDA device only with 16-bit precision, and contiguous for all others. The processor does
// not matter, so that a run has the same format on any machine.
config::MemoryFormat choose_memory_format(const config::TrainSection& plan,
                                          const std::vector<components::NamedTensor>& tensors, bool needs_contiguous,
                                          const c10::Device& device);

}  // namespace tenon::pipeline

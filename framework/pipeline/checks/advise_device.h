// Advice for faster training on a CUDA device.
#pragma once

#include <string>
#include <vector>

#include "framework/pipeline/build/training.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::pipeline {

// Returns settings of the run that leave the tensor cores of the device unused or slow, one sentence each. Empty on the
// CPU. The rules are those of NVIDIA's guide "Matrix Multiplication Background": multiples of 8 elements for 16-bit
// dtypes.
std::vector<std::string> advise_device(const Training& training, const support::ComputeDevice& device);

// Whether the processor multiplies bfloat16 matrices with instructions for that dtype. Without them, LibTorch converts
// each element to float32 and back.
bool cpu_has_bf16();

}  // namespace tenon::pipeline

// The bfloat16 instructions of the processor.
#pragma once

namespace tenon::pipeline {

// Whether the processor multiplies bfloat16 matrices with instructions for that dtype. Without them, LibTorch converts
// each element to float32 and back.
bool cpu_has_bf16();

}  // namespace tenon::pipeline

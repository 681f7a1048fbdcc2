// The memory of CPU tensors.
#pragma once

namespace tenon::pipeline {

// Lets each thread keep the small blocks of tensors that it frees, and reuse them for tensors of about the same size.
// Requests huge pages of the kernel where large tensors lie in the heap. Replaces LibTorch's allocator of CPU tensors
// until the process ends. Tensors that exist already are unaffected. Call it before other threads allocate tensors. A
// second call has no effect.
void reuse_tensor_memory();

}  // namespace tenon::pipeline

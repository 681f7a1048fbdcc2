// Passes NCCL to modules that do not depend on CUDA.
#pragma once

#include <chrono>
#include <functional>

#include "framework/cuda/device_library.h"

namespace tenon::cuda {

using MakeBackend = std::function<c10::intrusive_ptr<c10d::Backend>(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, std::chrono::milliseconds timeout)>;

// Wraps the library's make_nccl() as a function.
MakeBackend nccl_maker(const DeviceLibrary& library);

}  // namespace tenon::cuda

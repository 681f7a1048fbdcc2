// Opens the device of a run: libtenon_cuda.so and one of its devices, or nothing for the CPU.
#pragma once

#include <filesystem>
#include <string>

#include "framework/config/values/device_choice.h"
#include "framework/cuda/device_library.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::cuda {

struct OpenedDevice {
  support::ComputeDevice device = {};
  const DeviceLibrary* library = nullptr;  // only for a CUDA device
};

// Returns the path of the library relative to the host: bin/host and lib/tenon/libtenon_cuda.so.
std::filesystem::path device_library_of(const std::filesystem::path& host_executable);

// Loads the library together with LibTorch's CUDA libraries. Throws Error(configuration) if it is missing, is from
// another build, or depends on a missing library. The message names the problem and a solution.
const DeviceLibrary& open_device_library(const std::filesystem::path& file);

// Must be called before any other LibTorch function, because LibTorch queries CUDA only once. `local_rank`: see
// choose_device. Throws Error(configuration) at `place` if the requested device is not available. "auto" then uses the
// CPU and logs it.
OpenedDevice open_device(const config::DeviceChoice& choice, int local_rank, const std::filesystem::path& library_file,
                         const std::string& place);

}  // namespace tenon::cuda

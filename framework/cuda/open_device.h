// Opens the device of a run: libtenon_cuda.so and one of its devices, or nothing for the CPU.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>

#include "framework/config/values/text_values.h"
#include "framework/cuda/device_library.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::cuda {

struct OpenedDevice {
  support::ComputeDevice device = {};
  const DeviceLibrary* library = nullptr;  // only for a CUDA device
};

// Loads the library together with LibTorch's CUDA libraries. Throws Error(configuration) if it is missing, is from
// another build, or depends on a missing library. The message names the problem and a solution.
const DeviceLibrary& open_device_library(const std::filesystem::path& file);

// Must be called before any other LibTorch function, because LibTorch queries CUDA only once. `local_rank`: see
// choose_device. Throws Error(configuration) at `place` if the requested device is not available. "auto" then uses the
// CPU and logs it.
OpenedDevice open_device(const config::DeviceChoice& choice, int local_rank, const std::filesystem::path& library_file,
                         const std::string& place);

// Returns the index of the CUDA device, or nothing for the CPU. `local_rank`: rank of this process on this machine. It
// is the device's index unless the choice names one. Throws Error(configuration) at `place` if the device does not
// exist.
std::optional<int> choose_device(const config::DeviceChoice& choice, const FoundDevices& found, int local_rank,
                                 const std::string& place);

// Returns whether a driver has created devices in `dev_folder` and `visible`, the value of CUDA_VISIBLE_DEVICES or
// null, does not hide all of them. This check avoids loading hundreds of megabytes.
bool may_have_devices(const std::filesystem::path& dev_folder, const char* visible);

// NCCL, for modules that do not depend on CUDA.
using MakeBackend = std::function<c10::intrusive_ptr<c10d::Backend>(
    const c10::intrusive_ptr<c10d::Store>& store, int rank, int size, std::chrono::milliseconds timeout)>;

// Wraps the library's make_nccl() as a function.
MakeBackend nccl_maker(const DeviceLibrary& library);

}  // namespace tenon::cuda

// Opens what a run computes on: libtenon_cuda.so and one of its devices, or nothing for the CPU.
#pragma once

#include <filesystem>
#include <string>

#include "framework/config/device_choice.h"
#include "framework/cuda/device_library.h"
#include "framework/support/compute_device.h"

namespace tenon::cuda {

struct OpenedDevice {
  support::ComputeDevice device = {};
  const DeviceLibrary* library = nullptr;  // of a CUDA device alone
};

// Where the library is, beside the host: bin/host and lib/tenon/libtenon_cuda.so.
std::filesystem::path device_library_of(const std::filesystem::path& host_executable);

// Loads the library, which brings LibTorch's CUDA libraries with it. Throws Error(configuration) where it is missing,
// of another build, or lacks a library of its own, saying which and what to do.
const DeviceLibrary& open_device_library(const std::filesystem::path& file);

// Before anything else of LibTorch: it asks once whether there is CUDA. `local_rank`: see choose_device. Throws
// Error(configuration) at `place` where what is asked for cannot be had; "auto" then takes the CPU, and says so in the
// log.
OpenedDevice open_device(const config::DeviceChoice& choice, int local_rank, const std::filesystem::path& library_file,
                         const std::string& place);

}  // namespace tenon::cuda

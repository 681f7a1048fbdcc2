// Chooses the device of a run.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "framework/config/values/device_choice.h"
#include "framework/cuda/device_library.h"

namespace tenon::cuda {

// Returns the index of the CUDA device, or nothing for the CPU. `local_rank`: rank of this process on this machine. It
// is the device's index unless the choice names one. Throws Error(configuration) at `place` if the device does not
// exist.
std::optional<int> choose_device(const config::DeviceChoice& choice, const FoundDevices& found, int local_rank,
                                 const std::string& place);

// Returns whether a driver has created devices in `dev_folder` and `visible`, the value of CUDA_VISIBLE_DEVICES or
// null, does not hide all of them. This check avoids loading hundreds of megabytes.
bool may_have_devices(const std::filesystem::path& dev_folder, const char* visible);

}  // namespace tenon::cuda

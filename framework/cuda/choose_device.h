// Which of the devices that were found a run takes.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "framework/config/device_choice.h"
#include "framework/cuda/device_library.h"

namespace tenon::cuda {

// The CUDA device's index; none: the CPU. `local_rank`: of this process among those of this machine, which takes the
// device of that number unless the choice names one. Throws Error(configuration) at `place` where there is no such
// device.
std::optional<int> choose_device(const config::DeviceChoice& choice, const FoundDevices& found, int local_rank,
                                 const std::string& place);

// Whether a driver has put devices into `dev_folder`, and `visible`, the value of CUDA_VISIBLE_DEVICES or null, does
// not hide them all: what can be known without loading hundreds of megabytes.
bool may_have_devices(const std::filesystem::path& dev_folder, const char* visible);

}  // namespace tenon::cuda

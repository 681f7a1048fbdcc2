#include "framework/cuda/choose_device.h"

#include <string_view>

#include "framework/support/diagnostics/error.h"

namespace tenon::cuda {

namespace {

using Kind = config::DeviceChoice::Kind;

[[noreturn]] void refuse(const std::string& place, const config::DeviceChoice& choice, const std::string& what) {
  throw support::Error(support::ErrorKind::configuration,
                       place + ": run.device is \"" + to_string(choice) + "\"; " + what);
}

std::string describe(const FoundDevices& found) {
  if (found.count == 0) return "found no CUDA device: " + found.problem;
  if (found.count == 1) return "found one CUDA device, cuda:0";
  return "found " + std::to_string(found.count) + " CUDA devices, cuda:0 to cuda:" + std::to_string(found.count - 1);
}

}  // namespace

std::optional<int> choose_device(const config::DeviceChoice& choice, const FoundDevices& found, int local_rank,
                                 const std::string& place) {
  if (choice.kind == Kind::cpu || (choice.kind == Kind::automatic && found.count == 0)) return std::nullopt;
  const int index = choice.index.value_or(local_rank);
  if (index < found.count) return index;
  if (found.count == 0)
    refuse(place, choice,
           describe(found) +
               "; expected a device that nvidia-smi shows and CUDA_VISIBLE_DEVICES allows, or run.device = \"cpu\"");
  if (choice.index) refuse(place, choice, describe(found) + "; expected one of these, or run.device = \"cpu\"");
  refuse(place, choice,
         describe(found) + ", but none for process " + std::to_string(index) +
             " of this machine; expected a device for each process: start fewer, or set run.device = \"cpu\"");
}

bool may_have_devices(const std::filesystem::path& dev_folder, const char* visible) {
  using namespace std::string_view_literals;
  if (visible && (visible == ""sv || visible == "-1"sv)) return false;
  std::error_code ignored;  // treat an unreadable folder as one without devices
  // "dxg" is the device of the Windows Subsystem for Linux.
  for (const char* node : {"nvidiactl", "dxg"})
    if (std::filesystem::exists(dev_folder / node, ignored)) return true;
  return false;
}

}  // namespace tenon::cuda

#include "framework/cuda/open_device.h"

#include <dlfcn.h>

#include <cstdlib>
#include <string_view>

#include <c10/core/Allocator.h>
#include <c10/util/Exception.h>
#include <torch/types.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"

namespace tenon::cuda {
namespace {

using support::Error;
using Kind = config::DeviceChoice::Kind;

[[noreturn]] void refuse(const std::string& what) { throw Error(support::ErrorKind::configuration, what); }

[[noreturn]] void refuse_unloadable(const std::filesystem::path& file, const std::string& reason) {
  refuse(
      file.string() + ": cannot be loaded: " + reason +
      "; expected LibTorch's CUDA libraries with their dependencies: in a build from source run scripts/dependencies "
      "--cuda, which downloads them; or install the package torch " TENON_TORCH_RELEASE
      " with its nvidia packages (pip install --target DIR torch==" TENON_TORCH_RELEASE
      ") and set TENON_LIBTORCH=DIR; or add the folder of the missing libraries to LD_LIBRARY_PATH");
}

// A device that the run file names must be usable. "auto" falls back to the CPU.
OpenedDevice do_without(const config::DeviceChoice& choice, const std::string& place, const std::string& reason) {
  const std::string found = place + ": run.device is \"" + to_string(choice) + "\"";
  if (choice.kind == Kind::cuda) refuse(found + ": " + reason + "; or set run.device = \"cpu\"");
  support::log_warning(found +
                       ", but the run uses the CPU, because a CUDA device was detected but cannot be used: " + reason);
  return {};
}

std::string describe(const FoundDevices& found) {
  if (found.count == 0) return "found no CUDA device: " + found.problem;
  if (found.count == 1) return "found one CUDA device, cuda:0";
  return fmt::format("found {} CUDA devices, cuda:0 to cuda:{}", found.count, found.count - 1);
}

}  // namespace

namespace {

// The folder of the LibTorch that is loaded.
std::filesystem::path find_libtorch_folder() {
  Dl_info found{};
  const auto function = reinterpret_cast<const void*>(&c10::GetAllocator);
  return dladdr(function, &found) != 0 && found.dli_fname ? std::filesystem::path(found.dli_fname).parent_path() : "";
}

// The library needs LibTorch's CUDA libraries by name and has no path to them, so that they belong to the LibTorch that
// is loaded. Libraries of simulated devices do not need them.
void load_libtorch_cuda(const std::filesystem::path& file) {
  if (support::read_text(file).find("libtorch_cuda.so") == std::string::npos) return;
  for (const char* name : {"libc10_cuda.so", "libtorch_cuda.so"}) {
    const std::filesystem::path library = find_libtorch_folder() / name;
    if (!dlopen(library.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE)) refuse_unloadable(file, dlerror());
  }
}

}  // namespace

const DeviceLibrary& open_device_library(const std::filesystem::path& file) {
  if (!support::path_exists(file))
    refuse(
        file.string() +
        ": is missing, so this Tenon was built without CUDA; expected a Tenon with CUDA: of its packages the wheel, or "
        "a build from source with CUDA's headers and LibTorch's CUDA libraries: run scripts/dependencies --cuda, which "
        "downloads them, and build again; -DTENON_CUDA=ON reports missing parts");
  load_libtorch_cuda(file);
  // The library is never closed, because LibTorch does not support that.
  void* const handle = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (!handle) refuse_unloadable(file, dlerror());
  auto* const symbol = reinterpret_cast<DeviceLibrarySymbol*>(dlsym(handle, kDeviceLibrarySymbol));
  if (!symbol) refuse(file.string() + ": has no symbol " + kDeviceLibrarySymbol + "; expected the library of Tenon");
  const DeviceLibraryEntry& entry = *symbol();
  if (entry.version != kDeviceLibraryVersion || std::string_view(entry.build) != kDeviceLibraryBuild)
    refuse(fmt::format("{}: belongs to Tenon {} ({}); expected {} ({}) like the host: install both from the same build",
                       file.string(), entry.build, entry.version, kDeviceLibraryBuild, kDeviceLibraryVersion));
  return *entry.library;
}

OpenedDevice open_device(const config::DeviceChoice& choice, int local_rank, const std::filesystem::path& library_file,
                         const std::string& place) {
  if (choice.kind == Kind::cpu) return {};
  if (choice.kind == Kind::automatic && !may_have_devices("/dev", std::getenv("CUDA_VISIBLE_DEVICES"))) return {};
  const DeviceLibrary* library = nullptr;
  try {
    library = &open_device_library(library_file);
  } catch (const Error& error) {
    return do_without(choice, place, error.what());
  }
  const FoundDevices found = library->find_devices();
  const auto index = choose_device(choice, found, local_rank, place);
  if (!index) return do_without(choice, place, found.problem);
  try {
    library->use(*index);
    return {library->describe(*index), library};
  } catch (const c10::Error& error) {
    return do_without(choice, place, error.what_without_backtrace());
  }
}

std::optional<int> choose_device(const config::DeviceChoice& choice, const FoundDevices& found, int local_rank,
                                 const std::string& place) {
  if (choice.kind == Kind::cpu || (choice.kind == Kind::automatic && found.count == 0)) return std::nullopt;
  const int index = choice.index.value_or(local_rank);
  if (index < found.count) return index;
  const std::string start = fmt::format("{}: run.device is \"{}\"; {}", place, to_string(choice), describe(found));
  if (found.count == 0)
    refuse(start +
           "; expected a device that nvidia-smi shows and CUDA_VISIBLE_DEVICES allows, or run.device = \"cpu\"");
  if (choice.index) refuse(start + "; expected one of these, or run.device = \"cpu\"");
  refuse(fmt::format(
      "{}, but none for process {} of this machine; expected a device for each process: start fewer, or set "
      "run.device = \"cpu\"",
      start, index));
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

MakeBackend nccl_maker(const DeviceLibrary& library) {
  return [&library](const auto& store, int rank, int size, std::chrono::milliseconds timeout) {
    return library.make_nccl(store, rank, size, timeout);
  };
}

}  // namespace tenon::cuda

// The interface of libtenon_cuda.so. The host opens this library when a run uses a CUDA device. The engine links only
// LibTorch's CPU libraries. Loading libtenon_cuda.so also loads LibTorch's CUDA libraries. After that, LibTorch's
// generic functions (tensors on c10::kCUDA, events, generators, autocast) support the device. This interface has the
// other functions.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <c10/util/intrusive_ptr.h>

#include "framework/support/compute/compute_device.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace tenon::cuda {

// The devices that are visible to this process (CUDA_VISIBLE_DEVICES), or the reason why there are none.
struct FoundDevices {
  int count = 0;
  std::string problem = {};  // "no CUDA-capable device is detected"; empty if there are devices
};

// All functions except find_devices() throw c10::Error on CUDA errors. REQUIRES: 0 <= index < count for all functions.
class DeviceLibrary {
 public:
  virtual FoundDevices find_devices() const = 0;
  virtual support::ComputeDevice describe(int index) const = 0;

  // Makes the device current for this thread and initialises CUDA on it. The first call takes some seconds.
  virtual void use(int index) const = 0;

  // A function that starts an NVTX range of this name, which a profiler shows, and ends the one before on this thread.
  // Null if the library was built without NVTX's header.
  using MarkStage = void(const char* name);
  virtual MarkStage* stage_marker() const = 0;

  // With true, LibTorch warns (c10::WarningHandler) each time this process synchronises with a device.
  virtual void warn_of_waits(bool warns) const = 0;

  // Creates a NCCL process group of `size` ranks on the device of use(). This process is `rank`. A collective that
  // fails or takes longer than `timeout` and a margin sets the error of the group (c10d::Backend::getError), and does
  // not end the process. Communicators are created in the first collective.
  virtual c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                      std::chrono::milliseconds timeout) const = 0;

 protected:
  ~DeviceLibrary() = default;  // the object lives until the process ends
};

// The result of the library's only symbol. Both sides must be C++ of the same build. The host compares `version` and
// `build` before it uses the library.
struct DeviceLibraryEntry {
  uint32_t version;   // kDeviceLibraryVersion
  const char* build;  // kDeviceLibraryBuild
  const DeviceLibrary* library;
};

// Incremented with each change to this file.
inline constexpr uint32_t kDeviceLibraryVersion = 2;
// The releases of Tenon and LibTorch: "0.1.0 with LibTorch 2.11.0+cu130,cxx11abi=1".
inline constexpr const char* kDeviceLibraryBuild = TENON_VERSION " with LibTorch " TENON_TORCH_BUILD;

inline constexpr const char* kDeviceLibraryFile = "libtenon_cuda.so";
inline constexpr const char* kDeviceLibrarySymbol = "tenon_cuda_device_library";
extern "C" {
using DeviceLibrarySymbol = const DeviceLibraryEntry*();
}

}  // namespace tenon::cuda

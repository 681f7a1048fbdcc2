// What the host asks of libtenon_cuda.so, which it opens when a run wants a CUDA device. The host itself is linked with
// LibTorch's CPU libraries alone; with this one LibTorch's own CUDA libraries come into the process, and LibTorch's
// generic functions (tensors on c10::kCUDA, events, generators, autocast) serve the device from then on. Here is the
// rest.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

#include <c10/util/intrusive_ptr.h>

#include "framework/support/compute_device.h"

namespace c10d {
class Backend;
class Store;
}  // namespace c10d

namespace tenon::cuda {

// The devices that the driver shows to this process (CUDA_VISIBLE_DEVICES), or why it shows none.
struct FoundDevices {
  int count = 0;
  std::string problem = {};  // "no CUDA-capable device is detected"; empty where there are some
};

// In bytes. The peaks are those of LibTorch's allocator, since the process began or they were last reset.
struct MemoryUse {
  int64_t free;   // of the whole device, with all its processes
  int64_t total;  // of the whole device
  int64_t allocated_peak;
  int64_t reserved_peak;  // with what the allocator keeps for later
};

// Every function but find_devices() throws c10::Error where CUDA fails. REQUIRES: 0 <= index < count, throughout.
class DeviceLibrary {
 public:
  virtual FoundDevices find_devices() const = 0;
  virtual support::ComputeDevice describe(int index) const = 0;

  // Makes the device the one of this thread and starts CUDA there: some seconds, once.
  virtual void use(int index) const = 0;

  virtual MemoryUse memory_use(int index) const = 0;
  virtual void reset_peaks(int index) const = 0;

  // With true, LibTorch warns (c10::WarningHandler) each time this process waits for a device.
  virtual void warn_of_waits(bool warns) const = 0;

  // A process group of `size` ranks over NCCL, of which this process is `rank`, on the device of use(). `timeout`: of
  // each collective operation. Communicators are made at the first one.
  virtual c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                                      std::chrono::milliseconds timeout) const = 0;

 protected:
  ~DeviceLibrary() = default;  // it lives as long as the process
};

// What the library's one symbol gives. Both sides are C++ of one build; the texts are compared before anything else.
struct DeviceLibraryEntry {
  uint32_t version;   // kDeviceLibraryVersion
  const char* build;  // kDeviceLibraryBuild
  const DeviceLibrary* library;
};

// Grows with each change to this file.
inline constexpr uint32_t kDeviceLibraryVersion = 1;
// The releases of Tenon and of LibTorch: "0.1.0 with LibTorch 2.11.0+cu130,cxx11abi=1".
inline constexpr const char* kDeviceLibraryBuild = TENON_VERSION " with LibTorch " TENON_TORCH_BUILD;

inline constexpr const char* kDeviceLibraryFile = "libtenon_cuda.so";
inline constexpr const char* kDeviceLibrarySymbol = "tenon_cuda_device_library";
extern "C" {
using DeviceLibrarySymbol = const DeviceLibraryEntry*();
}

}  // namespace tenon::cuda

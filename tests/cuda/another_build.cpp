// Of the right version, but with another LibTorch in mind.
#include "framework/cuda/device_library.h"

extern "C" __attribute__((visibility("default"))) const tenon::cuda::DeviceLibraryEntry* tenon_cuda_device_library() {
  using namespace tenon::cuda;
  static const DeviceLibraryEntry entry{kDeviceLibraryVersion, kDeviceLibraryBuild, nullptr};
  return &entry;
}

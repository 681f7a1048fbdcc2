// A library with the correct version but built for another LibTorch.
#include "framework/cuda/device_library.h"

extern "C" __attribute__((visibility("default"))) const tenon::cuda::DeviceLibraryEntry* tenon_cuda_device_library() {
  using namespace tenon::cuda;
  static const DeviceLibraryEntry entry{kDeviceLibraryVersion, kDeviceLibraryBuild, nullptr};
  return &entry;
}

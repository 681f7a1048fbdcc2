// Together with simulated_device.cpp, a library that replaces libtenon_cuda.so.
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>

#include "framework/cuda/device_library.h"
#include "tests/cuda/simulated_device.h"
#include "tests/cuda/tested_device.h"

namespace tenon::cuda {

namespace {

class Library final : public DeviceLibrary {
 public:
  FoundDevices find_devices() const override { return {1}; }
  support::ComputeDevice describe(int) const override { return tests::tested_device().value(); }
  void use(int) const override {}
  MarkStage* stage_marker() const override { return nullptr; }
  void warn_of_waits(bool warns) const override { simulated::warn_of_waits(warns); }
  c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>&, int, int,
                                              std::chrono::milliseconds) const override {
    TORCH_CHECK(false, "a simulated device has no NCCL");
  }
};

}  // namespace

}  // namespace tenon::cuda

extern "C" __attribute__((visibility("default"))) const tenon::cuda::DeviceLibraryEntry* tenon_cuda_device_library() {
  using namespace tenon::cuda;
  static const Library library;
  static const DeviceLibraryEntry entry{kDeviceLibraryVersion, kDeviceLibraryBuild, &library};
  return &entry;
}

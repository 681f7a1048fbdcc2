// The implementation of libtenon_cuda.so. The files of this library are the only ones that call CUDA.
#include <ATen/Context.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/distributed/c10d/Backend.hpp>
#include <torch/csrc/distributed/c10d/Store.hpp>
#include <utility>

#include "framework/cuda/capture_graph.h"
#include "framework/cuda/device_library.h"
#include "framework/cuda/make_nccl.h"

// The CUDA Toolkit and the package nvidia-nvtx have this header; LibTorch's headers do not include it.
#if __has_include(<nvtx3/nvToolsExt.h>)
#include <nvtx3/nvToolsExt.h>
#define TENON_HAS_NVTX 1
#else
#define TENON_HAS_NVTX 0
#endif

namespace tenon::cuda {

namespace {

// 13000 is CUDA 13.0.
std::string format_cuda_version(int version) {
  return version == 0 ? "" : std::to_string(version / 1000) + "." + std::to_string(version % 1000 / 10);
}

// 91900 is cuDNN 9.19.0.
std::string format_cudnn_version(long version) {
  return std::to_string(version / 10000) + "." + std::to_string(version % 10000 / 100) + "." +
         std::to_string(version % 100);
}

#if TENON_HAS_NVTX
void mark_stage(const char* name) {
  static thread_local bool is_in_range = false;
  if (std::exchange(is_in_range, true)) nvtxRangePop();
  nvtxRangePushA(name);
}
#endif

class Library final : public DeviceLibrary {
 public:
  FoundDevices find_devices() const override {
    int count = 0;
    const cudaError_t error = c10::cuda::GetDeviceCount(&count);
    if (error != cudaSuccess) {
      (void)cudaGetLastError();  // clears the error, which a later call would report
      int driver = 0;
      if (cudaDriverGetVersion(&driver) == cudaSuccess && driver == 0) return {0, "there is no NVIDIA driver"};
      return {0, cudaGetErrorString(error)};
    }
    return {count, count > 0 ? "" : cudaGetErrorString(cudaErrorNoDevice)};
  }

  support::ComputeDevice describe(int index) const override {
    cudaDeviceProp properties{};
    C10_CUDA_CHECK(cudaGetDeviceProperties(&properties, index));
    int driver = 0, runtime = 0;
    C10_CUDA_CHECK(cudaDriverGetVersion(&driver));
    C10_CUDA_CHECK(cudaRuntimeGetVersion(&runtime));
    return {support::ComputeDevice::Kind::cuda,
            index,
            properties.name,
            properties.major,
            properties.minor,
            static_cast<int64_t>(properties.totalGlobalMem),
            format_cuda_version(driver),
            format_cuda_version(runtime),
            at::globalContext().hasCuDNN() ? format_cudnn_version(at::globalContext().versionRuntimeCuDNN()) : "",
            nccl_version(),
            make_graph};
  }

  void use(int index) const override {
    at::globalContext().lazyInitDevice(c10::kCUDA);
    c10::cuda::set_device(static_cast<c10::DeviceIndex>(index), /*force=*/true);
  }

  MarkStage* stage_marker() const override {
#if TENON_HAS_NVTX
    return &mark_stage;
#else
    return nullptr;
#endif
  }

  void warn_of_waits(bool warns) const override {
    c10::cuda::warning_state().set_sync_debug_mode(warns ? c10::cuda::SyncDebugMode::L_WARN
                                                         : c10::cuda::SyncDebugMode::L_DISABLED);
  }

  c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                              std::chrono::milliseconds timeout) const override {
    return cuda::make_nccl(store, rank, size, timeout);
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

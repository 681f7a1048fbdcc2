// The implementation of libtenon_cuda.so. Only this file calls CUDA.
#include <ATen/Context.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>
#include <torch/csrc/distributed/c10d/NCCLUtils.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>
#include <exception>
#include <utility>

#include "framework/cuda/device_library.h"
#include "framework/support/compute/torch_versions.h"

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

// The variants of a LibTorch have different versions of CUDA. Structures of the C interface differ between major
// versions.
std::string find_cuda_mismatch() {
  int version = 0;
  const cudaError_t error = cudaRuntimeGetVersion(&version);
  if (error != cudaSuccess) return cudaGetErrorString(error);
  if (version / 1000 == CUDART_VERSION / 1000) return "";
  return "this LibTorch is built for CUDA " + format_cuda_version(version) + ", and libtenon_cuda.so for CUDA " +
         format_cuda_version(CUDART_VERSION) + "; install the variant of torch for CUDA " +
         std::to_string(CUDART_VERSION / 1000);
}

// ProcessGroupNCCL::Options has a structure that grows with NCCL's minor version; see FindLibTorchCuda.cmake.
void require_nccl_of_headers() {
  int version = 0;
  TORCH_CHECK(ncclGetVersion(&version) == ncclSuccess, "NCCL does not report its version");
  TORCH_CHECK(version / 100 == NCCL_VERSION_CODE / 100, "this LibTorch has NCCL ", version / 10000, ".",
              version / 100 % 100, ", and libtenon_cuda.so is built for NCCL ", NCCL_MAJOR, ".", NCCL_MINOR,
              "; install a release of torch with that version, or train with one process");
}

// LibTorch ends a recording only if it is valid.
class CancellableGraph final : public at::cuda::CUDAGraph {
 public:
  void begin(c10::MempoolId_t pool, cudaStreamCaptureMode mode) {
    try {
      capture_begin(pool, mode);
    } catch (...) {
      abandon();
      throw;
    }
  }

  void cancel() noexcept {
    try {
      capture_end();
    } catch (const std::exception&) {
      abandon();  // some of the work could not be recorded
    }
  }

 private:
  void abandon() noexcept {
    if (capture_dev_ == UNDEFINED_DEVICE) return;
#if TENON_TORCH_AT_LEAST(2, 14)
    ignore_errors([&] { reset(); });
#else
    // Later allocations must not use the memory of the recording.
    ignore_errors([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(capture_dev_, mempool_id_); });
    ignore_errors([&] { c10::cuda::CUDACachingAllocator::releasePool(capture_dev_, mempool_id_); });
    at::Generator generator = at::globalContext().defaultGenerator(c10::Device(c10::kCUDA, capture_dev_));
    // The destructor would throw for a generator that has not been registered.
    ignore_errors([&] { support::unregister_graph(*at::check_generator<at::CUDAGeneratorImpl>(generator), *this); });
    captured_generator_states_.clear();
    // The generator believes that it is being recorded. Its clone has the same seed and offset, and does not.
    ignore_errors([&] { generator.graphsafe_set_state(generator.clone()); });
#endif
    (void)cudaGetLastError();  // clears the error, which a later call would report
  }

  template <class Function>
  static void ignore_errors(const Function& function) noexcept {
    try {
      function();
    } catch (const std::exception&) {
      // The device has failed, or capture_begin() did not get this far.
    }
  }
};

class Graph final : public support::DeviceGraph {
 public:
  // In the thread-local mode other threads, such as those of the data loader, may call CUDA during the recording.
  void begin(support::DeviceGraph* before) override {
    const c10::MempoolId_t none{0, 0};
    graph_.begin(before ? static_cast<Graph*>(before)->graph_.pool() : none, cudaStreamCaptureModeThreadLocal);
  }

  void end() override { graph_.capture_end(); }
  void cancel() noexcept override { graph_.cancel(); }
  void replay() override { graph_.replay(); }

 private:
  CancellableGraph graph_;
};

// LibTorch's default is to abort the process (SIGABRT) if a collective fails or times out. Tenon's monitor names the
// lost rank instead, and ends the process with an exit code. Users may still set these variables.
void leave_errors_to_the_monitor() {
  for (const char* name :
       {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_DUMP_ON_TIMEOUT"})
    setenv(name, "0", /*overwrite=*/0);
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
            c10d::getNcclVersion(),
            [] { return std::make_unique<Graph>(); }};
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
    require_nccl_of_headers();
    // The host reports a missing rank after `timeout`, with what it is doing. This limit is for a host that cannot.
    constexpr std::chrono::seconds kMargin(30);
    leave_errors_to_the_monitor();
    auto options = c10d::ProcessGroupNCCL::Options::create();
    options->timeout = timeout + kMargin;
    auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, std::move(options));
    backend->setBoundDeviceId(at::Device(at::kCUDA, c10::cuda::current_device()));
    return backend;
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

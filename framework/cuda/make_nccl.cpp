#include "framework/cuda/make_nccl.h"

#include <c10/cuda/CUDAFunctions.h>
#include <torch/csrc/distributed/c10d/NCCLUtils.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupNCCL.hpp>

#include <cstdlib>

namespace tenon::cuda {

namespace {

// LibTorch's default is to abort the process (SIGABRT) if a collective fails or times out. Tenon's monitor names the
// lost rank instead, and ends the process with an exit code. Users may still set these variables.
void leave_errors_to_the_monitor() {
  for (const char* name :
       {"TORCH_NCCL_ASYNC_ERROR_HANDLING", "TORCH_NCCL_ENABLE_MONITORING", "TORCH_NCCL_DUMP_ON_TIMEOUT"})
    setenv(name, "0", /*overwrite=*/0);
}

}  // namespace

c10::intrusive_ptr<c10d::Backend> make_nccl(const c10::intrusive_ptr<c10d::Store>& store, int rank, int size,
                                            std::chrono::milliseconds timeout) {
  // The host reports a missing rank after `timeout`, with what it is doing. This limit is for a host that cannot.
  constexpr std::chrono::seconds kMargin(30);
  leave_errors_to_the_monitor();
  auto options = c10d::ProcessGroupNCCL::Options::create();
  options->timeout = timeout + kMargin;
  auto backend = c10::make_intrusive<c10d::ProcessGroupNCCL>(store, rank, size, std::move(options));
  backend->setBoundDeviceId(at::Device(at::kCUDA, c10::cuda::current_device()));
  return backend;
}

std::string nccl_version() { return c10d::getNcclVersion(); }

}  // namespace tenon::cuda

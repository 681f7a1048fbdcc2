// The first CUDA device of the machine, through libtenon_cuda.so.
#include "framework/cuda/open_device.h"
#include "framework/pipeline/device/device_memory.h"
#include "framework/support/diagnostics/error.h"
#include "tests/cuda/tested_device.h"
#include "tests/test_folder.h"

namespace tenon::tests {

namespace {

struct Opened {
  cuda::OpenedDevice device;
  std::string problem;
  pipeline::CountWaits count_waits;

  Opened() {
    try {
      device = cuda::open_device({config::DeviceChoice::Kind::cuda}, 0,
                                 tenon::build_folder() / ENGINE_FOLDER / "libtenon_cuda.so", "this test");
      device.library->warn_of_waits(true);
    } catch (const support::Error& error) {
      problem = error.what();
    }
  }
};

// Opened before main(), because LibTorch queries CUDA only once.
const Opened opened;

}  // namespace

std::optional<support::ComputeDevice> tested_device() {
  return opened.problem.empty() ? std::optional(opened.device.device) : std::nullopt;
}

std::string no_device() { return opened.problem; }

distributed::ProcessGroup::MakeBackend tested_nccl() { return cuda::nccl_maker(*opened.device.library); }

int64_t device_waits() { return pipeline::CountWaits::total(); }

}  // namespace tenon::tests

// The first CUDA device of the machine, through libtenon_cuda.so.
#include <c10/util/Exception.h>

#include <atomic>

#include "framework/cuda/open_device.h"
#include "framework/support/error.h"
#include "tests/cuda/tested_device.h"

namespace tenon::tests {

namespace {

std::atomic<int64_t> waits{0};

// Counts LibTorch's warnings about synchronisations.
class CountWaits final : public c10::WarningHandler {
 public:
  void process(const c10::Warning& warning) override {
    if (warning.msg().find("synchronizing CUDA operation") != std::string::npos)
      ++waits;
    else
      before_.process(warning);
  }

 private:
  c10::WarningHandler before_;
};

struct Opened {
  cuda::OpenedDevice device;
  std::string problem;
  CountWaits count_waits;

  Opened() {
    try {
      device = cuda::open_device({config::DeviceChoice::Kind::cuda}, 0, TENON_BINARY_DIR "/lib/tenon/libtenon_cuda.so",
                                 "this test");
      device.library->warn_of_waits(true);
      c10::WarningUtils::set_warning_handler(&count_waits);
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

int64_t device_waits() { return waits; }

}  // namespace tenon::tests

#include "framework/cuda/capture_graph.h"

#include <ATen/Context.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <exception>

namespace tenon::cuda {

namespace {

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
    // Later allocations must not use the memory of the recording.
    ignore_errors([&] { c10::cuda::CUDACachingAllocator::endAllocateToPool(capture_dev_, mempool_id_); });
    ignore_errors([&] { c10::cuda::CUDACachingAllocator::releasePool(capture_dev_, mempool_id_); });
    at::Generator generator = at::globalContext().defaultGenerator(c10::Device(c10::kCUDA, capture_dev_));
    // The destructor would throw for a generator that has not been registered.
    ignore_errors([&] { at::check_generator<at::CUDAGeneratorImpl>(generator)->unregister_graph(this); });
    captured_generator_states_.clear();
    // The generator believes that it is being recorded. Its clone has the same seed and offset, and does not.
    ignore_errors([&] { generator.graphsafe_set_state(generator.clone()); });
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

}  // namespace

std::unique_ptr<support::DeviceGraph> make_graph() { return std::make_unique<Graph>(); }

}  // namespace tenon::cuda

#include "framework/cuda/capture_graph.h"

#include <ATen/cuda/CUDAGraph.h>
#include <c10/cuda/CUDACachingAllocator.h>
#include <c10/cuda/CUDAFunctions.h>
#include <cuda_runtime_api.h>

#include <exception>

namespace tenon::cuda {

namespace {

class Graph final : public support::DeviceGraph {
 public:
  // In the thread-local mode other threads, such as those of the data loader, may call CUDA during the recording.
  void begin(support::DeviceGraph* before) override {
    const c10::MempoolId_t none{0, 0};
    graph_.capture_begin(before ? static_cast<Graph*>(before)->graph_.pool() : none, cudaStreamCaptureModeThreadLocal);
  }

  void end() override { graph_.capture_end(); }

  void cancel() noexcept override {
    try {
      graph_.capture_end();
    } catch (const std::exception&) {
      // The work that could not be recorded has made the recording invalid. Later allocations must not use its memory.
      try {
        c10::cuda::CUDACachingAllocator::endAllocateToPool(c10::cuda::current_device(), graph_.pool());
      } catch (const std::exception&) {
        // It had already ended.
      }
    }
    (void)cudaGetLastError();  // clears the error, which a later call would report
  }

  void replay() override { graph_.replay(); }

 private:
  at::cuda::CUDAGraph graph_;
};

}  // namespace

std::unique_ptr<support::DeviceGraph> make_graph() { return std::make_unique<Graph>(); }

}  // namespace tenon::cuda

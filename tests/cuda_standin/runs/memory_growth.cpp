// Long runs on a device must not need more and more memory.
#include <ATen/core/CachingHostAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <malloc.h>
#include <torch/types.h>

#include "tests/cuda/find_device.h"
#include "tests/pipeline/trained_run.h"

namespace tenon::standin {
namespace {

constexpr int64_t kFirst = 50, kLast = 1000;
constexpr int64_t kBatch = 8, kBytesOfBatch = kBatch * (64 * 4 + 8);  // images of digits and their labels

struct Memory {
  int64_t device = 0, reserved = 0, pinned = 0, heap = 0;  // bytes in use
};

Memory measure(const support::ComputeDevice& device) {
  const auto all = static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE);
  const auto stats = c10::getDeviceAllocator(at::kCUDA)->getDeviceStats(static_cast<c10::DeviceIndex>(device.index));
  const struct mallinfo2 heap = mallinfo2();
  return {stats.allocated_bytes[all].current, stats.reserved_bytes[all].current,
          at::getHostAllocator(at::kCUDA)->get_stats().allocated_bytes.current,
          static_cast<int64_t>(heap.uordblks + heap.hblkhd)};
}

struct MeasureSteps final : pipeline::Observer {
  explicit MeasureSteps(const support::ComputeDevice& on) : device(on) {}
  bool subscribes(pipeline::Event event) const override { return event == pipeline::Event::step_end; }
  void on_event(pipeline::Event, const pipeline::RunState& state, pipeline::CallbackRequests&) override {
    if (state.step == kFirst) first = measure(device);
    if (state.step == kLast - 1) last = measure(device);
  }
  const support::ComputeDevice& device;
  Memory first, last;
};

}  // namespace

TEST_CASE("1,000 steps need as much memory as 50") {
  const auto device = tests::find_device();
  if (!device) return;
  for (const char* const model :
       {"use='mlp',params={hidden=[16]}",
        "use='vit',params={image_size=8,patch_size=4,channels=1,classes=10,width=16,depth=1,heads=2,mlp_width=32}"})
    for (const char* const graph : {"on", "off"}) {
      const std::string name = model, graphs = graph;
      CAPTURE(name);
      CAPTURE(graphs);
      pipeline::Setup setup{{"model={" + std::string(model) + "}", "data.batch_size=" + std::to_string(kBatch),
                             "data.drop_last=true", "train={steps=1000,cuda_graph='" + std::string(graph) + "'}",
                             "optimizer={use='adamw',lr=0.001}", "log.every='500 steps'", "validation.every='never'",
                             "checkpoint.every='never'"}};
      setup.device = *device;
      pipeline::BuiltRun run(setup);
      MeasureSteps memory(*device);
      run.train({&memory});
      CHECK(memory.last.device == memory.first.device);
      CHECK(memory.last.reserved == memory.first.reserved);
      // The batches that are prefetched at that time.
      CHECK(memory.last.pinned <= memory.first.pinned + 4 * kBytesOfBatch);
      // Less than one tensor for each step. Lines of the history and buffers of workers take some memory.
      CHECK(memory.last.heap - memory.first.heap < static_cast<int64_t>(sizeof(c10::TensorImpl)) * (kLast - kFirst));
    }
}

}  // namespace tenon::standin

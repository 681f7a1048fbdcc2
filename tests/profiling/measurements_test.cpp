#include "framework/profiling/measurements.h"

#include "tests/doctest_with_torch.h"

using namespace tenon::profiling;

namespace {

constexpr int64_t kMebibyte = 1 << 20;

at::Tensor make_tensor(int64_t bytes) { return torch::empty({bytes}, torch::kUInt8); }

}  // namespace

TEST_CASE("percentiles are measured times") {
  const Latency of_ten = summarize({10, 2, 3, 4, 5, 6, 7, 8, 9, 1});
  CHECK(of_ten.median == 5);
  CHECK(of_ten.tenth == 1);
  CHECK(of_ten.ninetieth == 9);
  CHECK(of_ten.least == 1);
  const Latency of_one = summarize({3});
  CHECK(of_one.median == 3);
  CHECK(of_one.tenth == 3);
  CHECK(of_one.ninetieth == 3);
}

TEST_CASE("work runs for the warm-up and then for each timed repeat") {
  int runs = 0;
  const Latency latency = time_repeated(c10::Device(c10::kCPU), 3, 5, [&] { ++runs; });
  CHECK(runs == 8);
  CHECK(latency.least >= 0);
  CHECK(latency.least <= latency.ninetieth);
}

TEST_CASE("held and peak memory count only tensors") {
  const at::Tensor before = make_tensor(kMebibyte);
  const MemoryMonitor monitor{c10::Device(c10::kCPU)};
  CHECK(monitor.held() == 0);
  const at::Tensor kept = make_tensor(2 * kMebibyte);
  { const at::Tensor gone = make_tensor(5 * kMebibyte); }
  const at::Tensor view = kept.slice(0, 0, 10);
  CHECK(monitor.held() == 2 * kMebibyte);
  CHECK(monitor.peak() == 7 * kMebibyte);
}

TEST_CASE("gradients of backward are counted") {
  const at::Tensor weight = torch::zeros({1024, 256}, torch::requires_grad());
  const MemoryMonitor monitor{c10::Device(c10::kCPU)};
  (weight * 2).sum().backward();
  CHECK(monitor.held() == kMebibyte);
  CHECK(monitor.peak() >= 2 * kMebibyte);
}

TEST_CASE("a destroyed monitor counts nothing more") {
  {
    const MemoryMonitor monitor{c10::Device(c10::kCPU)};
    make_tensor(kMebibyte);
    CHECK(monitor.peak() == kMebibyte);
  }
  const MemoryMonitor monitor{c10::Device(c10::kCPU)};
  CHECK(monitor.peak() == 0);
}

#include "framework/profiling/memory_watch.h"

#include "tests/doctest_with_torch.h"

using namespace tenon::profiling;

namespace {

constexpr int64_t kMebibyte = 1 << 20;

at::Tensor make_tensor(int64_t bytes) { return torch::empty({bytes}, torch::kUInt8); }

}  // namespace

TEST_CASE("held and peak memory count only tensors") {
  const at::Tensor before = make_tensor(kMebibyte);
  const MemoryWatch watch(c10::Device(c10::kCPU));
  CHECK(watch.held() == 0);
  const at::Tensor kept = make_tensor(2 * kMebibyte);
  { const at::Tensor gone = make_tensor(5 * kMebibyte); }
  const at::Tensor view = kept.slice(0, 0, 10);
  CHECK(watch.held() == 2 * kMebibyte);
  CHECK(watch.peak() == 7 * kMebibyte);
}

TEST_CASE("gradients of backward are counted") {
  const at::Tensor weight = torch::zeros({1024, 256}, torch::requires_grad());
  const MemoryWatch watch(c10::Device(c10::kCPU));
  (weight * 2).sum().backward();
  CHECK(watch.held() == kMebibyte);
  CHECK(watch.peak() >= 2 * kMebibyte);
}

TEST_CASE("a destroyed watch counts nothing more") {
  {
    const MemoryWatch watch(c10::Device(c10::kCPU));
    make_tensor(kMebibyte);
    CHECK(watch.peak() == kMebibyte);
  }
  const MemoryWatch watch(c10::Device(c10::kCPU));
  CHECK(watch.peak() == 0);
}

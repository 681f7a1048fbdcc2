// Tests of pinned host memory on a real device, through the statistics of LibTorch's allocator.
#include <ATen/core/CachingHostAllocator.h>
#include <torch/types.h>

#include "framework/pipeline/device/field_copies.h"
#include "framework/pipeline/device/host_copies.h"
#include "tests/cuda/find_device.h"
#include "tests/doctest_with_torch.h"

namespace tenon::pinned_memory_test {

namespace {

const c10::Device kCuda(c10::kCUDA, 0);

int64_t pinned_bytes() { return at::getHostAllocator(c10::kCUDA)->get_stats().allocated_bytes.current; }

}  // namespace

TEST_CASE("after a checkpoint there is as much pinned memory as before") {
  if (!tests::find_device()) return;
  const at::Tensor expected = at::arange(1 << 20), weights = expected.to(kCuda), bias = at::ones({5}, kCuda);
  at::getHostAllocator(c10::kCUDA)->empty_cache();
  const int64_t before = pinned_bytes();
  pipeline::HostCopies copies(/*shares=*/false);
  for (int saves = 0; saves < 2; ++saves) {
    const at::Tensor copied = copies.add("weights", weights);
    copies.add("bias", bias);
    copies.submit();
    copies.wait();
    CHECK(copied.equal(expected));
    CHECK(pinned_bytes() >= before + static_cast<int64_t>(weights.nbytes()));
  }
  copies.release();
  CHECK(pinned_bytes() == before);
  CHECK(copies.add("bias", bias).sizes() == bias.sizes());
}

TEST_CASE("batches of varying sizes reuse their pinned memory, and their copies on the device are freed") {
  if (!tests::find_device()) return;
  pipeline::FieldCopies copies(kCuda);
  int64_t after_first = 0;
  for (int i = 0; i < 40; ++i) {
    const at::Tensor image = at::full({200 + i}, i, at::kFloat);
    std::vector<at::Tensor> fields{image.clone()};
    copies.copy(fields, {});
    CHECK((fields[0] + 0).cpu().equal(image));
    if (i == 4) after_first = pinned_bytes();
  }
  CHECK(pinned_bytes() == after_first);
}

}  // namespace tenon::pinned_memory_test

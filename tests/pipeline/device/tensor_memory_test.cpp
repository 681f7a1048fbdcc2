#include "framework/pipeline/device/tensor_storage.h"

#include <malloc.h>
#include <unistd.h>

#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <memory>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "framework/support/diagnostics/sanitizers.h"
#include "tests/allocated_memory.h"
#include "tests/doctest_with_torch.h"

using tenon::pipeline::reuse_tensor_memory;

namespace {

at::Tensor make(int64_t floats) { return at::empty({floats}, at::kFloat); }

// Returns whether huge pages were requested at this address (proc(5), /proc/pid/smaps).
bool prefers_huge_pages(const void* address) {
  const auto place = reinterpret_cast<uintptr_t>(address);
  std::ifstream mappings("/proc/self/smaps");
  bool is_here = false;
  for (std::string line; std::getline(mappings, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2) is_here = begin <= place && place < end;
    if (is_here && line.starts_with("VmFlags:")) return line.find(" hg") != std::string::npos;
  }
  return false;
}

}  // namespace

// The sanitizers watch each block that is allocated, so the host keeps none for them.
#if !TENON_IS_SANITIZED
TEST_CASE("a thread reuses the memory of a freed tensor for the next one of its size") {
  at::Tensor earlier = make(100);
  reuse_tensor_memory();
  earlier.reset();  // LibTorch's allocator frees it
  for (const int64_t floats : {1, 16, 17, 100, 1000, 8192, 32'768}) {
    CAPTURE(floats);
    at::Tensor tensor = make(floats);
    const void* const memory = tensor.data_ptr();
    CHECK(reinterpret_cast<uintptr_t>(memory) % 64 == 0);
    const at::Tensor other = make(floats);
    CHECK(other.data_ptr() != memory);
    tensor.reset();
    CHECK(make(floats).data_ptr() == memory);
  }
}
#endif

TEST_CASE("tensors of any size have separate memory") {
  reuse_tensor_memory();
  for (int round = 0; round < 2; ++round) {
    std::vector<at::Tensor> tensors;
    for (int64_t floats = 1; floats < 70'000; floats += 1 + floats / 7)
      tensors.push_back(at::full({floats}, static_cast<double>(floats), at::kFloat));
    for (const at::Tensor& tensor : tensors) CHECK(tensor.eq(static_cast<double>(tensor.numel())).all().item<bool>());
  }
  const at::Tensor empty = make(0);
  CHECK(empty.data_ptr() == nullptr);
}

TEST_CASE("tensors may be freed by another thread, and after the thread that made them has ended") {
  reuse_tensor_memory();
  std::vector<at::Tensor> tensors;
  std::thread([&] {
    for (int64_t i = 1; i < 500; ++i) tensors.push_back(at::full({i}, static_cast<double>(i), at::kFloat));
  }).join();
  for (const at::Tensor& tensor : tensors) CHECK(tensor.eq(static_cast<double>(tensor.numel())).all().item<bool>());
  std::thread([given = std::move(tensors)]() mutable { given.clear(); }).join();
}

TEST_CASE("profilers see the memory of tensors, not that of kept blocks") {
  reuse_tensor_memory();
  const auto memory = std::make_shared<tenon::AllocatedMemory>();
  const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, memory);
  for (int i = 0; i < 2; ++i) {
    const at::Tensor small = make(100), large = make(1'000'000);
    CHECK(memory->bytes == 4'000'400);
  }
  CHECK(memory->bytes == 0);
}

#if !TENON_IS_SANITIZED
TEST_CASE("memory can be taken and given back without a tensor") {
  reuse_tensor_memory();
  c10::Allocator* const allocator = c10::GetAllocator(c10::kCPU);
  void* const memory = allocator->raw_allocate(1000);
  allocator->raw_deallocate(memory);
  CHECK(make(250).data_ptr() == memory);
}

TEST_CASE("large tensors that come and go between others do not make the heap grow") {
  reuse_tensor_memory();
  // As in the host. glibc would map large blocks, which it frees one by one.
  REQUIRE(mallopt(M_MMAP_THRESHOLD, 1 << 28) == 1);
  std::vector<at::Tensor> others;
  const auto make_both = [&others] {
    const at::Tensor large = make(1'000'000);
    others.push_back(make(50'000));
  };
  make_both();
  const size_t before = mallinfo2().arena;
  for (int i = 0; i < 50; ++i) make_both();
  // The others take 10 MB. The large ones would take 200 MB.
  CHECK(mallinfo2().arena - before < 20'000'000);
}

TEST_CASE("large tensors have huge pages in what the heap grows by, where the kernel offers them") {
  if (!std::filesystem::exists("/sys/kernel/mm/transparent_hugepage")) return;
  reuse_tensor_memory();
  REQUIRE(mallopt(M_MMAP_THRESHOLD, 1 << 28) == 1);
  const auto end_before = reinterpret_cast<uintptr_t>(sbrk(0));
  std::vector<at::Tensor> tensors;
  for (int i = 0; i < 30; ++i) tensors.push_back(make(2'000'000));
  size_t in_new_memory = 0;
  for (const at::Tensor& tensor : tensors) {
    if (reinterpret_cast<uintptr_t>(tensor.data_ptr()) < end_before) continue;
    ++in_new_memory;
    CHECK(prefers_huge_pages(tensor.data_ptr()));
    CHECK(prefers_huge_pages(tensor.data_ptr<float>() + tensor.numel() - 1));
  }
  CHECK(in_new_memory > 0);
}
#endif

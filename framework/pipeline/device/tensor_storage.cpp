#include "framework/pipeline/device/tensor_storage.h"

#include <c10/core/CPUAllocator.h>
#include <c10/core/StorageImpl.h>
#include <c10/core/alignment.h>
#include <c10/core/impl/alloc_cpu.h>
#include <sys/mman.h>
#include <torch/types.h>
#include <unistd.h>

#include <array>
#include <atomic>
#include <bit>
#include <cstdint>
#include <cstdlib>
#include <limits>
#include <new>
#include <utility>

#include "framework/support/diagnostics/sanitizers.h"

namespace tenon::pipeline {

namespace {

// Returns the previous memory.
c10::DataPtr exchange(const at::Tensor& tensor, c10::DataPtr memory, size_t bytes) {
  c10::StorageImpl* const storage = tensor.storage().unsafeGetStorageImpl();
  storage->set_nbytes(bytes);
  return storage->set_data_ptr(std::move(memory));
}

c10::Allocator& allocator_of(const at::Tensor& tensor) { return *tensor.storage().unsafeGetStorageImpl()->allocator(); }

// The sizes of kept blocks: each multiple of kAlignment up to 8 of them, then four sizes per power of two. A tensor
// gets the next larger size, which is at most a quarter more than it needs.
constexpr size_t kAlignment = c10::gAlignment;
constexpr size_t kLargestKept = size_t{128} << 10;
constexpr size_t kKeptByThread = size_t{4} << 20;  // bytes
constexpr uint32_t kNotKept = UINT32_MAX;

constexpr uint32_t size_class_of(size_t bytes) {
  const size_t last = (bytes - 1) / kAlignment;
  if (last < 8) return static_cast<uint32_t>(last);
  const int shift = std::bit_width(last) - 3;
  return static_cast<uint32_t>(static_cast<size_t>(shift) * 4 + (last >> shift));
}

constexpr size_t bytes_of(uint32_t size_class) {
  if (size_class < 8) return (size_class + size_t{1}) * kAlignment;
  const uint32_t shift = size_class / 4 - 1;
  return (size_t{size_class % 4 + 5} << shift) * kAlignment;
}

constexpr uint32_t kSizeClasses = size_class_of(kLargestKept) + 1;
static_assert(bytes_of(kSizeClasses - 1) == kLargestKept);
static_assert(size_class_of(8 * kAlignment) == 7 && bytes_of(7) == 8 * kAlignment);
static_assert(size_class_of(8 * kAlignment + 1) == 8 && bytes_of(8) == 10 * kAlignment);
static_assert(size_class_of(bytes_of(20)) == 20 && size_class_of(bytes_of(20) + 1) == 21);

// Precedes the elements of a tensor.
struct alignas(kAlignment) Header {
  Header* next;  // while the block is kept
  void* allocated;
  uint32_t size_class;
};

// Requests huge pages of the kernel in what the heap has grown by since the last call
// (https://docs.kernel.org/admin-guide/mm/transhuge.html). They are only made of memory that was not used before, so
// this follows each allocation, and each free, which may shrink the heap. Ignores errors, because the memory is the
// same without huge pages.
void prefer_huge_pages_in_heap() {
  static std::atomic<uintptr_t> known_end = UINTPTR_MAX;
  const auto end = reinterpret_cast<uintptr_t>(sbrk(0));  // no system call: the C library knows it
  const uintptr_t begin = known_end.load(std::memory_order_relaxed);
  if (begin == end) return;
  known_end.store(end, std::memory_order_relaxed);
  if (end > begin) madvise(reinterpret_cast<void*>(begin), end - begin, MADV_HUGEPAGE);
}

// Aligns by hand. posix_memalign() of glibc needs more than it returns, so it never reuses a freed block for a
// tensor of the same size, and blocks of large tensors that come and go would make the heap grow.
Header* allocate_memory(size_t bytes) {
  const size_t most = std::numeric_limits<size_t>::max() - sizeof(Header) - kAlignment;
  void* const allocated = bytes <= most ? std::malloc(sizeof(Header) + kAlignment + bytes) : nullptr;
  if (!allocated) {
    c10::free_cpu(c10::alloc_cpu(bytes));  // throws LibTorch's error
    throw std::bad_alloc();
  }
  prefer_huge_pages_in_heap();
  const auto address = reinterpret_cast<uintptr_t>(allocated);
  auto* const block = reinterpret_cast<Header*>((address + kAlignment - 1) / kAlignment * kAlignment);
  block->allocated = allocated;
  return block;
}

void free_memory(Header* block) {
  std::free(block->allocated);
  prefer_huge_pages_in_heap();
}

// The kept blocks of a thread. Its destructor runs before the thread's last tensors are freed.
class KeptBlocks {
 public:
  constexpr KeptBlocks() = default;
  KeptBlocks(const KeptBlocks&) = delete;
  ~KeptBlocks() {
    is_over_ = true;
    for (Header* first : first_)
      while (Header* const block = first) {
        first = block->next;
        free_memory(block);
      }
    first_ = {};
  }

  // Null if there is none of this size.
  Header* take(uint32_t size_class) {
    Header* const block = first_[size_class];
    if (!block) return nullptr;
    first_[size_class] = block->next;
    bytes_ -= bytes_of(size_class);
    return block;
  }

  // Returns false if the block must be freed.
  bool keep(Header* block) {
    const size_t bytes = bytes_of(block->size_class);
    if (bytes_ + bytes > kKeptByThread || is_over_) return false;
    bytes_ += bytes;
    block->next = first_[block->size_class];
    first_[block->size_class] = block;
    return true;
  }

 private:
  std::array<Header*, kSizeClasses> first_{};
  size_t bytes_ = 0;
  bool is_over_ = false;
};

constinit thread_local KeptBlocks kept;

void free_block(void* elements) {
  if (!elements) return;
  c10::profiledCPUMemoryReporter().Delete(elements);
  Header* const block = static_cast<Header*>(elements) - 1;
  if (block->size_class == kNotKept || !kept.keep(block)) free_memory(block);
}

Header* allocate_block(size_t bytes) {
  const uint32_t size_class = bytes <= kLargestKept ? size_class_of(bytes) : kNotKept;
  if (size_class != kNotKept) {
    if (Header* const block = kept.take(size_class)) return block;
    bytes = bytes_of(size_class);
  }
  Header* const block = allocate_memory(bytes);
  block->size_class = size_class;
  return block;
}

class TensorMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const elements = bytes == 0 ? nullptr : allocate_block(bytes) + 1;
    if (elements) c10::profiledCPUMemoryReporter().New(elements, bytes);
    return {elements, elements, free_block, c10::Device(c10::kCPU)};
  }
  c10::DeleterFnPtr raw_deleter() const override { return free_block; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
};

}  // namespace

bool can_free_storage(const at::Tensor& tensor) {
  if (tensor.layout() != at::kStrided || tensor.numel() == 0) return false;
  const c10::Storage& storage = tensor.storage();
  return storage.resizable() && tensor.storage_offset() == 0 && tensor.is_non_overlapping_and_dense() &&
         storage.nbytes() == tensor.nbytes();
}

bool has_storage(const at::Tensor& tensor) { return tensor.numel() == 0 || tensor.storage().nbytes() > 0; }

void free_storage(const at::Tensor& tensor) { exchange(tensor, allocator_of(tensor).allocate(0), 0); }

void StoragePool::allocate(const at::Tensor& tensor) {
  const size_t bytes = tensor.nbytes();
  std::vector<c10::DataPtr>& kept = kept_[bytes];
  if (kept.empty()) {
    exchange(tensor, allocator_of(tensor).allocate(bytes), bytes);
  } else {
    exchange(tensor, std::move(kept.back()), bytes);
    kept.pop_back();
  }
}

void StoragePool::free(const at::Tensor& tensor) {
  kept_[tensor.nbytes()].push_back(exchange(tensor, allocator_of(tensor).allocate(0), 0));
}

// Never destroyed, because tensors are freed while the process exits.
void reuse_tensor_memory() {
#if !TENON_IS_SANITIZED
  static TensorMemory* const memory = [] {
    auto* const made = new TensorMemory;
    c10::SetCPUAllocator(made);
    prefer_huge_pages_in_heap();
    made->raw_deallocate(made->raw_allocate(size_t{1} << 20));  // lets the heap grow before the first tensor
    return made;
  }();
  (void)memory;
#endif
}

}  // namespace tenon::pipeline

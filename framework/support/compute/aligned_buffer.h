// A reusable memory buffer for contents of different sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace tenon::support {

class AlignedBuffer {
 public:
  // Sufficient for the vector loads of all CPUs. Two buffers never share a cache line.
  static constexpr size_t kAlignment = 64;
  static constexpr size_t round_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  // Returns at least `bytes` bytes, never null and not cleared. The memory moves only if a call requests more than any
  // call before. Throws std::bad_alloc and is then empty.
  std::byte* reserve(size_t bytes) {
    if (!memory_ || bytes > capacity_) {
      // Allocates 50 % more, so that slowly growing contents do not allocate each time.
      const size_t larger = round_up(std::max({bytes, capacity_ + capacity_ / 2, kAlignment}));
      capacity_ = 0;
      memory_.reset();  // free the old memory first, to not hold both at once
      memory_.reset(static_cast<std::byte*>(::operator new (larger, std::align_val_t{kAlignment})));
      capacity_ = larger;
    }
    return memory_.get();
  }

  std::byte* data() const { return memory_.get(); }

 private:
  struct Free {
    void operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }
  };

  std::unique_ptr<std::byte[], Free> memory_;
  size_t capacity_ = 0;
};

}  // namespace tenon::support

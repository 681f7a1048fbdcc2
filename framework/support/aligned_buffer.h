// Memory that is used again and again for contents of different sizes.
#pragma once

#include <algorithm>
#include <cstddef>
#include <memory>
#include <new>

namespace tenon::support {

class AlignedBuffer {
 public:
  // Vector loads of any CPU, and no cache line shared between two buffers.
  static constexpr size_t kAlignment = 64;
  static constexpr size_t round_up(size_t bytes) { return (bytes + kAlignment - 1) / kAlignment * kAlignment; }

  // At least so many bytes, never null and not cleared. The memory stays where it is until more is asked for than ever
  // before. Throws std::bad_alloc, and then holds nothing.
  std::byte* reserve(size_t bytes) {
    if (!memory_ || bytes > capacity_) {
      // Half as much again, so that contents which grow bit by bit do not allocate each time.
      const size_t larger = round_up(std::max({bytes, capacity_ + capacity_ / 2, kAlignment}));
      capacity_ = 0;
      memory_.reset();  // first, or else both would be held at once
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

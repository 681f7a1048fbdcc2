// What LibTorch's allocators give out while it watches.
#pragma once

#include <cstdint>
#include <memory>

#include <c10/core/Device.h>

namespace tenon::profiling {

// Of tensors on one device, allocated by this thread or on its behalf (backward), in bytes, above what there was when
// it began. On the CPU LibTorch does not tell of memory that is freed but was allocated before.
class MemoryWatch {
 public:
  explicit MemoryWatch(const c10::Device& device);
  ~MemoryWatch();
  MemoryWatch(const MemoryWatch&) = delete;
  MemoryWatch& operator=(const MemoryWatch&) = delete;

  int64_t held() const;  // now
  int64_t peak() const;  // so far

 private:
  class Reporter;
  class Installed;
  std::shared_ptr<Reporter> reporter_;
  std::unique_ptr<Installed> installed_;
};

}  // namespace tenon::profiling

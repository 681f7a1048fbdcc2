// The memory of the devices and pinned host memory.
#pragma once

#include <cstddef>
#include <map>
#include <mutex>
#include <optional>

namespace tenon::standin {

// The memory of one device is host memory that is mapped twice: at its "device address" without any access rights, so
// that host code that reads it crashes, and at another address for the stand-in.
class DeviceMemory final {
 public:
  explicit DeviceMemory(size_t limit);
  DeviceMemory(const DeviceMemory&) = delete;
  DeviceMemory& operator=(const DeviceMemory&) = delete;

  // Returns null if the limit is exceeded. The memory contains 0xff: NaN in each floating-point format.
  void* allocate(size_t bytes);
  bool free(void* address);  // false: no such allocation

  bool has(const void* address) const { return address >= device_ && address < device_ + kAddresses; }
  void* host_address(const void* address) const { return host_ + (static_cast<const char*>(address) - device_); }
  size_t limit() const { return limit_; }
  size_t used() const;

 private:
  static constexpr size_t kAddresses = size_t{16} << 30;  // the kernel provides memory as it is used

  size_t limit_;
  char* device_;
  char* host_;
  mutable std::mutex mutex_;
  std::map<size_t, size_t> free_, allocated_;  // offset -> bytes
  size_t used_ = 0;
};

// Device memory is created at its first use, so that a process that forks before shares nothing with its children.
DeviceMemory& memory_of(int device);

// The device that has this memory. Nothing: host memory.
std::optional<int> device_of(const void* address);

// Host memory that devices access directly.
void* allocate_pinned(size_t bytes);
void free_pinned(void* address);
void register_pinned(void* address, size_t bytes);
void unregister_pinned(void* address);
bool is_pinned(const void* address);

}  // namespace tenon::standin

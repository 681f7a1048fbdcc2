#include "tests/cuda_standin/runtime/memory.h"

#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <cstdlib>
#include <cstring>
#include <memory>

#include "tests/cuda_standin/runtime/settings.h"
#include "tests/cuda_standin/standin.h"

namespace tenon::standin {

namespace {

constexpr size_t kGranularity = size_t{2} << 20;
constexpr size_t kPage = 4096;

char* map(int file, size_t bytes, int protection) {
  void* const address = mmap(nullptr, bytes, protection, MAP_SHARED | MAP_NORESERVE, file, 0);
  if (address == MAP_FAILED) std::abort();
  return static_cast<char*>(address);
}

struct Pinned {
  std::mutex mutex;
  std::map<const char*, size_t> blocks;
};

Pinned& pinned() {
  static auto* const made = new Pinned;  // never destroyed, because LibTorch frees memory while the process exits
  return *made;
}

struct Devices {
  std::mutex mutex;
  std::array<std::unique_ptr<DeviceMemory>, 8> memory;
};

Devices& devices() {
  static auto* const made = new Devices;
  return *made;
}

}  // namespace

DeviceMemory::DeviceMemory(size_t limit) : limit_(limit) {
  const int file = memfd_create("cuda-standin", MFD_CLOEXEC);
  if (file < 0 || ftruncate(file, kAddresses) != 0) std::abort();
  device_ = map(file, kAddresses, PROT_NONE);
  host_ = map(file, kAddresses, PROT_READ | PROT_WRITE);
  close(file);
  free_[0] = kAddresses;
}

void* DeviceMemory::allocate(size_t bytes) {
  bytes = (bytes + kGranularity - 1) / kGranularity * kGranularity;
  const std::lock_guard lock(mutex_);
  if (used_ + bytes > limit_) return nullptr;
  for (auto range = free_.begin(); range != free_.end(); ++range) {
    const auto [begin, size] = *range;
    if (size < bytes) continue;
    free_.erase(range);
    if (size > bytes) free_[begin + bytes] = size - bytes;
    allocated_[begin] = bytes;
    used_ += bytes;
    std::memset(host_ + begin, 0xff, bytes);
    return device_ + begin;
  }
  return nullptr;
}

bool DeviceMemory::free(void* address) {
  const std::lock_guard lock(mutex_);
  const auto found = allocated_.find(static_cast<size_t>(static_cast<char*>(address) - device_));
  if (found == allocated_.end()) return false;
  auto [begin, bytes] = *found;
  madvise(host_ + begin, bytes, MADV_REMOVE);  // returns the memory to the kernel
  used_ -= bytes;
  allocated_.erase(found);
  const auto next = free_.lower_bound(begin);
  if (next != free_.end() && begin + bytes == next->first) {
    bytes += next->second;
    free_.erase(next);
  }
  const auto after = free_.lower_bound(begin);
  if (after != free_.begin())
    if (auto& [first, size] = *std::prev(after); first + size == begin) {
      size += bytes;
      return true;
    }
  free_[begin] = bytes;
  return true;
}

size_t DeviceMemory::used() const {
  const std::lock_guard lock(mutex_);
  return used_;
}

DeviceMemory& memory_of(int device) {
  const std::lock_guard lock(devices().mutex);
  auto& memory = devices().memory.at(static_cast<size_t>(device));
  if (!memory) memory = std::make_unique<DeviceMemory>(settings().memory);
  return *memory;
}

std::optional<int> device_of(const void* address) {
  const std::lock_guard lock(devices().mutex);
  for (size_t i = 0; i < devices().memory.size(); ++i)
    if (devices().memory[i] && devices().memory[i]->has(address)) return static_cast<int>(i);
  return std::nullopt;
}

void* host_address(const void* address) {
  const auto device = device_of(address);
  return device ? memory_of(*device).host_address(address) : const_cast<void*>(address);
}

void* allocate_pinned(size_t bytes) {
  void* const address = std::aligned_alloc(kPage, (bytes + kPage - 1) / kPage * kPage);
  if (address) register_pinned(address, bytes);
  return address;
}

void free_pinned(void* address) {
  unregister_pinned(address);
  std::free(address);
}

void register_pinned(void* address, size_t bytes) {
  const std::lock_guard lock(pinned().mutex);
  pinned().blocks[static_cast<char*>(address)] = bytes;
}

void unregister_pinned(void* address) {
  const std::lock_guard lock(pinned().mutex);
  pinned().blocks.erase(static_cast<char*>(address));
}

bool is_pinned(const void* address) {
  const std::lock_guard lock(pinned().mutex);
  auto block = pinned().blocks.upper_bound(static_cast<const char*>(address));
  if (block == pinned().blocks.begin()) return false;
  --block;
  return static_cast<const char*>(address) < block->first + block->second;
}

}  // namespace tenon::standin

#include "plugins/datasets/shared/cache/memory_cache.h"

#include <cstring>

namespace datasets {

MemoryCache::MemoryCache(size_t images, uint64_t max_bytes) : max_bytes_(max_bytes), entries_(images) {}

MemoryCache::~MemoryCache() {
  for (const std::atomic<Entry*>& entry : entries_) delete entry.load();
}

uint64_t MemoryCache::bytes_of(const cv::Mat& pixels) { return pixels.total() * pixels.elemSize() + sizeof(Entry); }

std::optional<PreparedImage> MemoryCache::find(size_t number, const ImageFile&, Buffer&) {
  const Entry* entry = entries_[number].load(std::memory_order_acquire);
  if (!entry) return std::nullopt;
  return PreparedImage{entry->whole, cv::Mat(entry->size, CV_8UC3, entry->pixels.get())};
}

void MemoryCache::keep(size_t number, const ImageFile&, const PreparedImage& prepared, Buffer&) {
  const uint64_t needed = bytes_of(prepared.pixels);
  if (bytes_.fetch_add(needed) + needed > max_bytes_) {
    bytes_ -= needed;
    return;
  }
  const size_t size = prepared.pixels.total() * prepared.pixels.elemSize();
  auto entry = std::make_unique<Entry>(
      Entry{prepared.whole, prepared.pixels.size(), std::make_unique_for_overwrite<uint8_t[]>(size)});
  std::memcpy(entry->pixels.get(), prepared.pixels.data, size);
  Entry* nothing = nullptr;
  // Two workers may have prepared the same image concurrently. The first result is kept.
  if (entries_[number].compare_exchange_strong(nothing, entry.get(), std::memory_order_release)) {
    static_cast<void>(entry.release());
  } else {
    bytes_ -= needed;
  }
}

}  // namespace datasets

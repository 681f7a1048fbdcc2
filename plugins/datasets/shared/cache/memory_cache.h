// Prepared images in memory, as many as fit. The first images stay.
#pragma once

#include <atomic>
#include <memory>
#include <vector>

#include "plugins/datasets/shared/cache/image_cache.h"

namespace datasets {

class MemoryCache final : public ImageCache {
 public:
  // Caches images numbered below `images` in at most `max_bytes` bytes.
  MemoryCache(size_t images, uint64_t max_bytes);
  ~MemoryCache() override;

  // Takes no lock.
  std::optional<PreparedImage> find(size_t number, const ImageFile& image, Buffer& buffer) override;
  void keep(size_t number, const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) override;

  uint64_t bytes() const { return bytes_; }

 private:
  struct Entry {
    cv::Size whole;
    cv::Size size;
    std::unique_ptr<uint8_t[]> pixels;
  };
  static uint64_t bytes_of(const cv::Mat& pixels);

  const uint64_t max_bytes_;
  std::atomic<uint64_t> bytes_ = 0;
  std::vector<std::atomic<Entry*>> entries_;  // by number; null: not cached
};

}  // namespace datasets

// Caches images after the leading transforms (docs/reference/transforms.md), so that they are decoded and scaled once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <opencv2/core.hpp>

#include "plugins/datasets/shared/image_file.h"

namespace datasets {

struct PreparedImage {
  cv::Size whole;  // size of the image before the transforms
  cv::Mat pixels;  // 8-bit RGB, rows without gaps
};

// All workers call it concurrently.
class ImageCache {
 public:
  // Buffers that a worker thread reuses for every image.
  struct Buffer {
    std::string key;
    std::vector<uint8_t> bytes;
  };

  virtual ~ImageCache() = default;

  // `number` is the index of the image in its dataset. Without a result, the image is not cached and keep() may follow.
  // The pixels are valid until the buffer is used again, and must not be modified.
  virtual std::optional<PreparedImage> find(size_t number, const ImageFile& image, Buffer& buffer) = 0;
  // Called after find() with the same arguments. The image may be dropped if there is no space.
  virtual void keep(size_t number, const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) = 0;
};

}  // namespace datasets

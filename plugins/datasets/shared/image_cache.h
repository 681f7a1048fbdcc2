// Images as the leading transforms leave them (docs/transforms.md), kept so that they are decoded and scaled once.
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
  cv::Size whole;  // of the image before the transforms
  cv::Mat pixels;  // 8-bit RGB, rows without gaps
};

// Called from all workers at once.
class ImageCache {
 public:
  // What a worker thread reuses from image to image.
  struct Buffer {
    std::string key;
    std::vector<uint8_t> bytes;
  };

  virtual ~ImageCache() = default;

  // `number` is that of the image in its dataset. No value: it is not there, and keep() may follow. The pixels stay
  // until the buffer is used again; they are not to be written to.
  virtual std::optional<PreparedImage> find(size_t number, const ImageFile& image, Buffer& buffer) = 0;
  // After find() with the same arguments. The image may not be kept, where there is no room.
  virtual void keep(size_t number, const ImageFile& image, const PreparedImage& prepared, Buffer& buffer) = 0;
};

}  // namespace datasets

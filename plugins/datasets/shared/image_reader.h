// From an image's path to its place in the batch: what the datasets of images have in common.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/images/decode/decode_image.h"
#include "plugins/images/transforms/transform_chain.h"

namespace datasets {

class ImageReader {
 public:
  // What a thread reuses from image to image.
  struct Worker {
    std::vector<uint8_t> file;
    images::Decoder decoder;
    images::TransformBuffers buffers;
  };

  // `transforms`, `scaled_decoding` and `max_pixels`, as image_folder has them.
  static std::vector<tenon::Param> schema();

  // Throws tenon::Error if the decoders cannot be loaded or the transforms make no sense.
  explicit ImageReader(const tenon::Params& params);

  Worker open_worker() const;

  // A field for images: float32 [3, H, W] where the transforms normalise, else uint8 [H, W, 3].
  tenon::Field field(const std::string& name, const std::string& what) const;
  // Height and width of all images, or -1 where they differ.
  std::vector<int64_t> extents() const;

  // Reads, decodes and transforms the image into the field. Returns what was drawn, and in `size` the size of the whole
  // image, so that the same can be done to a mask. Throws tenon::DataError naming the path.
  images::DrawnTransforms write(Worker& worker, const std::string& path, uint64_t seed, const tenon::Sink& sink,
                                const std::string& field, cv::Size* size = nullptr) const;
  // The same of a file whose bytes are in worker.file; `path` is for messages.
  images::DrawnTransforms write_read(Worker& worker, const std::string& path, uint64_t seed, const tenon::Sink& sink,
                                     const std::string& field, cv::Size* size = nullptr) const;

  const images::Limits& limits() const { return limits_; }

 private:
  images::DrawnTransforms draw(cv::Size size, uint64_t seed, const std::string& path) const;

  images::TransformChain chain_;
  images::Scaling scaling_;
  images::Limits limits_;
};

}  // namespace datasets

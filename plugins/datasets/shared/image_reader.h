// Common code of the image datasets, from an image's file to its slot in the batch.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/image_cache.h"
#include "plugins/datasets/shared/image_file.h"
#include "plugins/images/decode/decode_image.h"
#include "plugins/images/decode/pixel_buffer.h"
#include "plugins/images/transforms/transform_chain.h"

namespace datasets {

class ImageReader {
 public:
  // Buffers that a thread reuses for every image.
  struct Worker {
    std::vector<uint8_t> file;
    images::Decoder decoder;
    images::TransformBuffers buffers;
    images::PixelBuffer prepared;
    ImageCache::Buffer cached;
  };

  // `transforms`, `scaled_decoding`, `max_pixels`, `cache`, `cache_bytes` and `cache_dir`.
  static std::vector<tenon::Param> schema();

  // Throws tenon::Error if the decoders cannot be loaded, the transforms are invalid, or they leave nothing to cache.
  explicit ImageReader(const tenon::Params& params);

  // Must be called once before write(). `count` is the number of images in the dataset.
  void expect_images(size_t count);

  Worker open_worker() const;

  // Describes a field for images: float32 [3, H, W] if the transforms normalise, else uint8 [H, W, 3].
  tenon::Field field(const std::string& name, const std::string& what) const;
  // Returns how write() makes the field from an image's file.
  tenon::Preprocessing preprocessing(const std::string& name) const { return {name, chain_.print_steps()}; }
  // Returns height and width of all images, with -1 for an extent that differs between images.
  std::vector<int64_t> extents() const;

  // Reads, decodes and transforms the image into the field. `number` is its index among the expected images. Returns
  // the size of the whole image. The pixels are the same with and without a cache. Throws tenon::DataError naming the
  // image's location.
  cv::Size write(Worker& worker, size_t number, const ImageFile& image, uint64_t seed, const tenon::Sink& sink,
                 const std::string& field) const;

  // Returns the transforms that write() applied to an image of this size, for use on a mask.
  images::SampledTransforms draw(cv::Size size, uint64_t seed, const ImageFile& image) const;

  const images::Limits& limits() const { return limits_; }

 private:
  cv::Size write_directly(Worker& worker, const ImageFile& image, uint64_t seed, const tenon::Sink& sink,
                          const std::string& field) const;
  PreparedImage prepare(Worker& worker, const ImageFile& image) const;
  images::DecodedWindow decode(Worker& worker, const images::ImageInfo& info, const images::SampledTransforms& sampled,
                               const std::string& place) const;
  void write_sampled(const images::SampledTransforms& sampled, const cv::Mat& pixels, const cv::Rect2d& place,
                     Worker& worker, const tenon::Sink& sink, const std::string& field) const;
  std::string recipe() const;

  images::TransformChain chain_;
  images::Scaling scaling_;
  images::Limits limits_;
  std::string cache_kind_;
  uint64_t cache_bytes_;
  std::string cache_dir_;
  std::unique_ptr<ImageCache> cache_;
};

}  // namespace datasets

// Common code of the image datasets, from an image's file to its slot in the batch.
#pragma once

#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/image_cache.h"
#include "plugins/images/decode/decode_image.h"
#include "plugins/images/decode/pixels.h"
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
    int orientation = 0;  // EXIF, of the last image; 0: unknown, because it came from a cache
  };

  // `transforms`, `scaled_decoding`, `background`, `max_value`, `max_pixels`, `cache`, `cache_bytes` and `cache_dir`.
  static std::vector<tenon::Param> schema();

  // Throws tenon::Error if the decoders cannot be loaded, the transforms are invalid, or they leave nothing to cache.
  explicit ImageReader(const tenon::Params& params);

  // Must be called once before write(). `count` is the number of images in the dataset.
  void expect_images(size_t count);

  // An image that EXIF turns upright.
  struct TurnedImage {
    size_t number;
    int orientation;  // 2 to 8
  };
  struct Examination {
    size_t count = 0;  // images that could be examined
    std::vector<TurnedImage> turned;
  };

  using Open = std::function<std::unique_ptr<const ImageFile>(size_t number)>;

  // Reads at most 32 of `count` images, spread over all of them. Logs what samples may lose without an error:
  // transparency, the range of 16-bit values, and all frames but the first. An image that cannot be read is left out,
  // because its sample reports it.
  Examination examine(size_t count, const Open& open) const;

  // The EXIF orientation of an image, 1 to 8. Throws tenon::DataError naming its location.
  int read_orientation(const ImageFile& image) const;

  // The names of the transforms that move the pixels of an image, such as "resize, horizontal_flip". `counts_scaling`:
  // whether the list has those that only scale the whole image.
  std::string list_moving(bool counts_scaling) const { return chain_.list_moving(counts_scaling); }

  Worker open_worker() const;

  // Describes a field for images: float32 [3, H, W] if the transforms normalise, else uint8 [H, W, 3].
  tenon::Field field(const std::string& name, const std::string& what) const;
  // Returns how write() makes the field from an image's file.
  tenon::Preprocessing preprocessing(const std::string& name) const;
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
  images::ImageInfo read_info(Worker& worker, const ImageFile& image, const std::string& place) const;
  void warn_of_transparency(const std::string& found) const;
  void warn_of_frames(const std::string& found) const;
  void note_range(const std::string& place, int largest) const;
  void warn_of_range(const std::string& found, int largest) const;
  std::string recipe() const;

  images::TransformChain chain_;
  images::Rendering rendering_;
  images::Scaling scaling_;
  images::Limits limits_;
  std::string cache_kind_;
  uint64_t cache_bytes_;
  std::string cache_dir_;
  std::unique_ptr<ImageCache> cache_;
  mutable std::atomic<bool> has_warned_of_transparency_ = false;
  mutable std::atomic<bool> has_warned_of_range_ = false;
  mutable std::atomic<bool> has_warned_of_frames_ = false;
  mutable std::atomic<int> deep_images_ = 0;  // with 16 bits
  mutable std::atomic<int> largest_ = 0;      // of their values
};

}  // namespace datasets

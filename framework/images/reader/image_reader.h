// Reads images for datasets, from an image's file to a sample's pixels.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/images/decode/decode_image.h"
#include "framework/images/decode/pixels.h"
#include "framework/images/decode/png_numbers.h"
#include "framework/images/reader/image_cache.h"
#include "framework/images/transforms/transform_chain.h"

namespace images {

// The parameters of a dataset, see tenon/draft/images.hpp.
struct ReaderSettings {
  std::vector<std::string> transforms;
  std::string transforms_parameter = "transforms";  // its name, for messages
  bool scaled_decoding = true;
  std::vector<int64_t> background = {};
  int64_t max_value = Rendering().max_value;
  int64_t max_pixels = Limits().max_pixels;
  std::string cache = "none";
  uint64_t cache_bytes = uint64_t{4} << 30;
  std::string cache_dir = {};
};

class ImageReader {
 public:
  // Buffers that a thread reuses for every image.
  struct Worker {
    std::vector<uint8_t> file;
    Decoder decoder;
    TransformBuffers buffers;
    PixelBuffer prepared;
    PixelBuffer decoded;  // without transforms
    NumberBuffers numbers;
    ImageCache::Buffer cached;
    // Of a mosaic: what is read of each image before all sizes are known, and the canvas.
    struct MosaicBuffers {
      std::vector<uint8_t> file;
      PixelBuffer prepared;
      ImageCache::Buffer cached;
    };
    std::array<MosaicBuffers, kMosaicImages> mosaic;
    PixelBuffer canvas_memory;
    cv::Mat canvas;
    // Between two stages of the chain, between guard bytes.
    std::array<PixelBuffer, 2> stage_memory;
    cv::Mat stage;
  };

  // Throws tenon::Error if the decoders cannot be loaded, the transforms are invalid, or they leave nothing to cache.
  explicit ImageReader(const ReaderSettings& settings);

  // Opens image `number` for examine().
  using Open = std::function<std::unique_ptr<const ImageFile>(size_t number)>;
  // Receives an image that EXIF turns upright: 2 to 8.
  using FoundOrientation = std::function<void(size_t number, int orientation)>;

  // Reads at most 32 of `count` images, spread over all of them. Logs what samples may lose without an error:
  // transparency, the range of 16-bit values, and all frames but the first. An image that cannot be read is left out,
  // because its sample reports it. Returns how many could be read.
  size_t examine(size_t count, const Open& open, const FoundOrientation& found_orientation) const;

  const TransformChain& chain() const { return chain_; }
  // How write() makes the pixels, as the text of tenon/preprocessing.h.
  std::string format_steps() const;

  Worker open_worker() const;

  // Reads the header of an image into the worker. Throws tenon::DataError naming its location.
  ImageInfo inspect(Worker& worker, const ImageFile& image) const;

  // Decode an image without transforms. The pixels belong to the worker: 8-bit RGB, those of decode_numbers(),
  // or those of decode_stored().
  cv::Mat& decode_rgb(Worker& worker, const ImageFile& image, ImageInfo& info) const;
  cv::Mat& decode_mask(Worker& worker, const ImageFile& image, ImageInfo& info) const;
  cv::Mat& decode_as_stored(Worker& worker, const ImageFile& image, ImageInfo& info) const;

  // Returns memory for a sample of this size: float [3, H, W] if the chain normalises, else uint8 [H, W, 3].
  using MakeSlot = std::function<void*(cv::Size size)>;
  struct Written {
    ImageInfo info;  // of the file; if a cache was read, only its size is known, and the rest is 0
    std::optional<SampledTransforms> transforms;  // from the whole image; none with a cache: see draw()
  };
  // Reads and decodes the image, and applies the first stage of the chain. If that is not all, the pixels are the
  // worker's `stage`, and no slot is made. `boxes`: for TransformChain::draw(). The pixels are the same with and
  // without a cache. Throws tenon::DataError naming the image's location.
  Written write(Worker& worker, const ImageFile& image, const TransformChain::Boxes& boxes, uint64_t seed,
                const MakeSlot& make_slot) const;

  // The transforms that write() applied to an image of this size, for its targets.
  SampledTransforms draw(cv::Size size, const TransformChain::Boxes& boxes, uint64_t seed,
                         const ImageFile& image) const;

  // Applies a later stage to the worker's `stage`, after the plugin's transform. `boxes`: in its pixels. Returns the
  // transforms, for its targets.
  SampledTransforms write_stage(Worker& worker, size_t stage, const TransformChain::Boxes& boxes, uint64_t seed,
                                const ImageFile& image, const MakeSlot& make_slot) const;

  // An image of a mosaic, as it lies on the canvas.
  struct PlacedTile {
    ImageInfo info;  // as in Written
    SampledTransforms transforms;
    cv::Rect place;
  };
  // Reads the images of a mosaic onto the worker's canvas. REQUIRES: the chain draws the mosaic for this seed.
  std::vector<PlacedTile> read_mosaic(Worker& worker, const std::array<const ImageFile*, kMosaicImages>& images,
                                      uint64_t seed) const;
  // Transforms the canvas. `boxes`: in its pixels. `image`: the first, for messages. Returns the transforms, for its
  // targets.
  SampledTransforms write_mosaic(Worker& worker, const ImageFile& image, const TransformChain::Boxes& boxes,
                                 uint64_t seed, const MakeSlot& make_slot) const;

 private:
  // As inspect(), with a warning of further frames.
  ImageInfo inspect_sample(Worker& worker, const ImageFile& image) const;
  PreparedImage prepare(Worker& worker, const ImageFile& image, ImageInfo& info) const;
  PreparedImage find_prepared(Worker& worker, const ImageFile& image, ImageInfo& info) const;
  PlacedTile paste_tile(Worker& worker, const ImageFile& image, const ImageInfo& info,
                        const std::optional<PreparedImage>& prepared, const Tile& tile) const;
  DecodedWindow decode(Worker& worker, const ImageInfo& info, const SampledTransforms& sampled,
                       const std::string& place) const;
  void write_sampled(size_t stage, const SampledTransforms& sampled, const DecodedWindow& window, Worker& worker,
                     const MakeSlot& make_slot) const;
  void warn_of_transparency(const std::string& found) const;
  void warn_of_frames(const std::string& found) const;
  void note_range(const std::string& place, int largest) const;
  void warn_of_range(const std::string& found, int largest) const;
  std::string recipe() const;

  TransformChain chain_;
  Rendering rendering_;
  Scaling scaling_;
  Limits limits_;
  std::unique_ptr<ImageCache> cache_;
  mutable std::atomic<bool> has_warned_of_transparency_ = false;
  mutable std::atomic<bool> has_warned_of_range_ = false;
  mutable std::atomic<bool> has_warned_of_frames_ = false;
  mutable std::atomic<int> deep_images_ = 0;  // with 16 bits
  mutable std::atomic<int> largest_ = 0;      // of their values
};

}  // namespace images

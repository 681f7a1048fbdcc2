#include "framework/images/reader/image_reader.h"

#include <algorithm>
#include <array>
#include <mutex>
#include <optional>
#include <utility>

#include <tenon/error.hpp>
#include <tenon/log.hpp>

#include "framework/formats/examine.h"
#include "framework/images/reader/image_cache.h"

namespace images {
namespace {

// Runs `work`, and prefixes its data errors with the image's location.
template <class Work>
auto at_place(const ImageFile& image, Work&& work) {
  try {
    return work();
  } catch (const tenon::DataError& error) {
    throw tenon::DataError(image.place() + ": " + error.what());
  }
}

Rendering read_rendering(const ReaderSettings& settings) {
  Rendering rendering = {static_cast<int>(settings.max_value)};
  const std::vector<int64_t>& colour = settings.background;
  if (colour.empty()) return rendering;
  if (colour.size() != 3) {
    throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"background\" has " + std::to_string(colour.size()) +
                                                   " numbers; expected red, green and blue, such as [255, 255, 255]");
  }
  std::array<uint8_t, 3>& background = rendering.background.emplace();
  std::transform(colour.begin(), colour.end(), background.begin(), [](int64_t c) { return static_cast<uint8_t>(c); });
  return rendering;
}

// `, "max_value": 4095, "background": [255, 255, 255]`, without what has its default.
std::string format_json(const Rendering& rendering) {
  std::string text;
  if (rendering.max_value != Rendering().max_value) text += R"(, "max_value": )" + std::to_string(rendering.max_value);
  if (const auto& colour = rendering.background) {
    text += R"(, "background": [)" + std::to_string((*colour)[0]) + ", " + std::to_string((*colour)[1]) + ", " +
            std::to_string((*colour)[2]) + ']';
  }
  return text;
}

// The part of a whole image at full size that the transforms need.
DecodedWindow window_of(const cv::Mat& pixels, const SampledTransforms& sampled) {
  const cv::Rect window = sampled.window();
  return {pixels(window), cv::Rect2d(0, 0, window.width, window.height), 8};
}

// Images are read again in each epoch, so the terminal shows the first message alone, and the log a limited number.
void report_warning(const std::string& place, const std::string& warning) {
  constexpr int kMost = 1000;
  static std::atomic<int> count = 0;
  const int number = ++count;
  if (number > kMost) return;
  const std::string text = place + ": decoded, but its file has a fault: " + warning;
  if (number == 1)
    tenon::log_warning(text + "; further messages of this kind are only in the log");
  else
    tenon::log_info(text + (number == kMost ? "; this is the last message of this kind" : ""));
}

}  // namespace

ImageReader::ImageReader(const ReaderSettings& settings)
    : chain_(settings.transforms, settings.transforms_parameter),
      rendering_(read_rendering(settings)),
      scaling_(settings.scaled_decoding ? Scaling::dct : Scaling::none),
      limits_{settings.max_pixels} {
  const std::string& cache = settings.cache;
  if (cache != "none" && cache != "memory" && cache != "disk")
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "parameter \"cache\" is \"" + cache + "\"; expected none, memory or disk");
  if (cache != "none" && !chain_.has_fixed_part() && scaling_ != Scaling::none) {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "parameter \"cache\" is \"" + cache + "\", and \"" + settings.transforms_parameter +
                           "\" begins with neither resize nor center_crop, so each sample decodes its JPEG at a "
                           "different scale; " +
                           (chain_.mosaic() ? "" : "begin with one of them, or ") +
                           "set scaled_decoding = false to cache whole images");
  }
  if (cache == "disk" && settings.cache_dir.empty()) {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "parameter \"cache\" is \"disk\", and \"cache_dir\" is empty; expected a folder");
  }
  silence_opencv();
  cv::setNumThreads(1);  // the data workers are the threads
  if (cache == "memory") cache_ = std::make_unique<MemoryCache>(settings.cache_bytes);
  if (cache == "disk") cache_ = std::make_unique<DiskCache>(settings.cache_dir, recipe());
}

// This version of the file format fixes the definitions of the transforms.
std::string ImageReader::recipe() const {
  return chain_.fixed_part() + format_json(rendering_) + (scaling_ == Scaling::dct ? "scaled, " : "full size, ") +
         describe_decoders() + '\n';
}

ImageReader::Worker ImageReader::open_worker() const {
  // Another library may have raised it. Workers are opened at the same time, and setNumThreads() is not safe then.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (cv::getNumThreads() != 1) cv::setNumThreads(1);
  Worker worker;
  worker.decoder = Decoder(rendering_);
  return worker;
}

std::string ImageReader::format_steps() const {
  std::string steps = chain_.format_steps();
  std::string decoding = format_json(rendering_);
  if (scaling_ == Scaling::none) decoding += R"(, "scaled_decoding": false)";
  if (limits_.max_pixels != Limits().max_pixels) decoding += R"(, "max_pixels": )" + std::to_string(limits_.max_pixels);
  return steps.insert(steps.find('}'), decoding);  // at the end of the first step, decode
}

size_t ImageReader::examine(size_t count, const Open& open, const FoundOrientation& found_orientation) const {
  constexpr size_t kMost = 32;
  constexpr int64_t kMostPixels = 50'000'000;  // that are decoded, in a fraction of a second
  size_t examined = 0;
  formats::Finding transparent, deep, several;
  std::vector<std::pair<size_t, int>> turned;
  int largest = 0;
  int64_t pixels = 0;
  Worker worker = open_worker();
  for (size_t k = 0; k < std::min(count, kMost) && pixels < kMostPixels; ++k) {
    const size_t number = formats::spread_index(k, count);
    try {
      const std::unique_ptr<const ImageFile> image = open(number);
      const std::string place = image->place();
      const ImageInfo info = inspect(worker, *image);
      ++examined;
      if (info.has_more_images) several.add(place);
      if (info.orientation != 1) turned.emplace_back(number, info.orientation);
      if (info.bits < 16 && !info.has_alpha) continue;
      decode_image(worker.file, info, place, worker.decoder);
      pixels += int64_t{info.size.width} * info.size.height;
      const PixelContent& content = worker.decoder.content();
      if (content.is_transparent) transparent.add(place);
      if (info.bits == 16) deep.add(place);
      largest = std::max(largest, content.largest);
    } catch (const tenon::Error& error) {
      if (error.status() != TENON_BAD_DATA) throw;
    }
  }
  for (const auto& [number, orientation] : turned) found_orientation(number, orientation);
  if (transparent.count() > 0) warn_of_transparency(transparent.print(examined));
  if (deep.count() > 0) warn_of_range(deep.print(examined), largest);
  if (several.count() > 0) warn_of_frames(several.print(examined));
  return examined;
}

void ImageReader::warn_of_frames(const std::string& found) const {
  if (has_warned_of_frames_.exchange(true)) return;
  tenon::log_warning("several pages or frames in " + found +
                     ": only the first one is read; expected one image per file: save each page that is a sample as a "
                     "separate file");
}

void ImageReader::warn_of_transparency(const std::string& found) const {
  if (rendering_.background || has_warned_of_transparency_.exchange(true)) return;
  tenon::log_warning("transparent pixels in " + found +
                     ": the colours stored below them are used, which programs choose at will and no viewer shows; "
                     "expected opaque images, or a colour below them: set background = [255, 255, 255] for white");
}

// For images that examine() did not read. A single dark image would be no sign.
void ImageReader::note_range(const std::string& place, int largest) const {
  constexpr int kEnough = 32;
  for (int before = largest_; before < largest && !largest_.compare_exchange_weak(before, largest);) {
  }
  if (++deep_images_ == kEnough)
    warn_of_range("the first " + std::to_string(kEnough) + " images with 16 bits, up to " + place, largest_);
}

// `found`: the images with 16 bits.
void ImageReader::warn_of_range(const std::string& found, int largest) const {
  constexpr int kLow = 1 << 14;  // fewer than 64 of the 256 levels remain
  if (rendering_.max_value != Rendering().max_value || largest == 0 || largest >= kLow) return;
  if (has_warned_of_range_.exchange(true)) return;
  int most = 1;
  while (most < largest) most = 2 * most + 1;
  tenon::log_warning("the largest 16-bit value in " + found + " is " + std::to_string(largest) +
                     ", and 65535 becomes 255, so the images are almost black; expected values that fill 16 bits, or "
                     "their range: set max_value = " +
                     std::to_string(most));
}

// Reads the file into the worker.
ImageInfo ImageReader::inspect(Worker& worker, const ImageFile& image) const {
  image.read(worker.file);
  return read_image_info(worker.file, image.place(), limits_);
}

ImageInfo ImageReader::inspect_sample(Worker& worker, const ImageFile& image) const {
  const ImageInfo info = inspect(worker, image);
  if (info.has_more_images) warn_of_frames(image.place());
  return info;
}

cv::Mat& ImageReader::decode_rgb(Worker& worker, const ImageFile& image, ImageInfo& info) const {
  info = inspect(worker, image);
  return decode_image(worker.file, info, image.place(), worker.decoder);
}

cv::Mat& ImageReader::decode_mask(Worker& worker, const ImageFile& image, ImageInfo& info) const {
  info = inspect(worker, image);
  return decode_numbers(worker.file, info, image.place(), worker.numbers);
}

cv::Mat& ImageReader::decode_as_stored(Worker& worker, const ImageFile& image, ImageInfo& info) const {
  info = inspect(worker, image);
  return decode_stored(worker.file, info, image.place(), worker.decoder);
}

ImageReader::Written ImageReader::write(Worker& worker, const ImageFile& image, const TransformChain::Boxes& boxes,
                                        uint64_t seed, const MakeSlot& make_slot) const {
  if (!cache_) {
    const ImageInfo info = inspect_sample(worker, image);
    SampledTransforms sampled = draw(info.size, boxes, seed, image);
    write_sampled(0, sampled, decode(worker, info, sampled, image.place()), worker, make_slot);
    return {info, std::move(sampled)};
  }
  ImageInfo info = {};
  const PreparedImage prepared = find_prepared(worker, image, info);
  const SampledTransforms rest = at_place(image, [&] {
    const auto moved = boxes.empty() ? boxes : chain_.move_by_fixed_part(prepared.whole, boxes);
    return chain_.sample_rest(prepared.pixels.size(), seed, moved);
  });
  write_sampled(0, rest, window_of(prepared.pixels, rest), worker, make_slot);
  return {info, std::nullopt};
}

// From the cache, or prepared and put into it. The pixels are valid until the next image.
PreparedImage ImageReader::find_prepared(Worker& worker, const ImageFile& image, ImageInfo& info) const {
  std::optional<PreparedImage> prepared = cache_->find(image, worker.cached);
  if (!prepared) {
    prepared = prepare(worker, image, info);
    cache_->keep(image, *prepared, worker.cached);
  }
  info.size = prepared->whole;
  return *prepared;
}

// `prepared`: the whole image from the cache; none: the worker's file is decoded.
ImageReader::PlacedTile ImageReader::paste_tile(Worker& worker, const ImageFile& image, const ImageInfo& info,
                                                const std::optional<PreparedImage>& prepared, const Tile& tile) const {
  PlacedTile placed = {info, SampledTransforms(info.size, {tile.resize}, {}, std::nullopt, Reducing::yes), tile.place};
  const DecodedWindow decoded = prepared ? window_of(prepared->pixels, placed.transforms)
                                         : decode(worker, info, placed.transforms, image.place());
  placed.transforms.render(decoded.image, decoded.place, worker.buffers).copyTo(worker.canvas(tile.place));
  return placed;
}

std::vector<ImageReader::PlacedTile> ImageReader::read_mosaic(Worker& worker,
                                                              const std::array<const ImageFile*, kMosaicImages>& images,
                                                              uint64_t seed) const {
  std::array<ImageInfo, kMosaicImages> infos = {};
  std::array<std::optional<PreparedImage>, kMosaicImages> prepared;
  std::array<cv::Size, kMosaicImages> sizes;
  for (size_t i = 0; i < images.size(); ++i) {
    with_listing(*images[i], [&] {
      if (cache_) {
        prepared[i] = find_prepared(worker, *images[i], infos[i]);
      } else {
        infos[i] = inspect_sample(worker, *images[i]);
      }
    });
    // The next image must not overwrite them.
    std::swap(worker.file, worker.mosaic[i].file);
    std::swap(worker.prepared, worker.mosaic[i].prepared);
    std::swap(worker.cached, worker.mosaic[i].cached);
    sizes[i] = infos[i].size;
  }
  const MosaicSettings& settings = *chain_.mosaic();
  const cv::Size canvas(2 * settings.side, 2 * settings.side);
  worker.canvas = worker.canvas_memory.make(canvas, CV_8UC3);
  worker.canvas.setTo(cv::Scalar(settings.fill[0], settings.fill[1], settings.fill[2]));
  const std::array<Tile, kMosaicImages> tiles = chain_.draw_tiles(sizes, seed);
  std::vector<PlacedTile> placed;
  for (size_t i = 0; i < images.size(); ++i) {
    std::swap(worker.file, worker.mosaic[i].file);
    placed.push_back(
        with_listing(*images[i], [&] { return paste_tile(worker, *images[i], infos[i], prepared[i], tiles[i]); }));
  }
  return placed;
}

SampledTransforms ImageReader::write_mosaic(Worker& worker, const ImageFile& image, const TransformChain::Boxes& boxes,
                                            uint64_t seed, const MakeSlot& make_slot) const {
  SampledTransforms rest = at_place(image, [&] { return chain_.sample_rest(worker.canvas.size(), seed, boxes); });
  write_sampled(0, rest, window_of(worker.canvas, rest), worker, make_slot);
  return rest;
}

// The pixels belong to the worker.
PreparedImage ImageReader::prepare(Worker& worker, const ImageFile& image, ImageInfo& info) const {
  info = inspect_sample(worker, image);
  const SampledTransforms fixed = at_place(image, [&] { return chain_.draw_fixed_part(info.size); });
  const DecodedWindow decoded = decode(worker, info, fixed, image.place());
  cv::Mat pixels = worker.prepared.make(fixed.size(), CV_8UC3);
  fixed.write(decoded.image, decoded.place, worker.buffers, pixels.data);
  return {info.size, pixels};
}

DecodedWindow ImageReader::decode(Worker& worker, const ImageInfo& info, const SampledTransforms& sampled,
                                  const std::string& place) const {
  DecodedWindow decoded =
      decode_window(worker.file, info, place, sampled.window(), sampled.reduction(), worker.decoder, scaling_);
  if (!worker.decoder.warning().empty()) report_warning(place, worker.decoder.warning());
  if (worker.decoder.content().is_transparent) warn_of_transparency(place);
  if (info.bits == 16) note_range(place, worker.decoder.content().largest);
  return decoded;
}

void ImageReader::write_sampled(size_t stage, const SampledTransforms& sampled, const DecodedWindow& window,
                                Worker& worker, const MakeSlot& make_slot) const {
  if (stage < chain_.plugin_count()) {
    cv::Mat pixels = worker.stage_memory[stage % 2].make_guarded(sampled.size(), CV_8UC3);
    sampled.write(window.image, window.place, worker.buffers, pixels.data);
    worker.stage = pixels;
    return;
  }
  void* const slot = make_slot(sampled.size());
  if (chain_.normalizes()) {
    sampled.write(window.image, window.place, worker.buffers, static_cast<float*>(slot));
  } else {
    sampled.write(window.image, window.place, worker.buffers, static_cast<uint8_t*>(slot));
  }
}

SampledTransforms ImageReader::write_stage(Worker& worker, size_t stage, const TransformChain::Boxes& boxes,
                                           uint64_t seed, const ImageFile& image, const MakeSlot& make_slot) const {
  const cv::Mat pixels = worker.stage;
  SampledTransforms sampled = at_place(image, [&] { return chain_.sample_stage(stage, pixels.size(), seed, boxes); });
  write_sampled(stage, sampled, window_of(pixels, sampled), worker, make_slot);
  return sampled;
}

SampledTransforms ImageReader::draw(cv::Size size, const TransformChain::Boxes& boxes, uint64_t seed,
                                    const ImageFile& image) const {
  return at_place(image, [&] { return chain_.draw(size, seed, boxes); });
}

}  // namespace images

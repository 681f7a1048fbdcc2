#include "plugins/datasets/shared/image_reader.h"

#include <algorithm>
#include <array>
#include <mutex>

#include "plugins/datasets/shared/examine.h"
#include "plugins/datasets/shared/image_cache.h"

namespace datasets {
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

images::Rendering read_rendering(const tenon::Params& params) {
  images::Rendering rendering = {static_cast<int>(params.integer("max_value"))};
  const std::vector<int64_t> colour = params.integers("background");
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
std::string format_json(const images::Rendering& rendering) {
  std::string text;
  if (rendering.max_value != images::Rendering().max_value)
    text += R"(, "max_value": )" + std::to_string(rendering.max_value);
  if (const auto& colour = rendering.background) {
    text += R"(, "background": [)" + std::to_string((*colour)[0]) + ", " + std::to_string((*colour)[1]) + ", " +
            std::to_string((*colour)[2]) + ']';
  }
  return text;
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

std::vector<tenon::Param> ImageReader::schema() {
  const std::vector<std::string> transforms = {"resize(256)", "center_crop(224)", "normalize()"};
  return {
      tenon::param("transforms", transforms)
          .doc("transforms of each image, in this order, or a preset such as imagenet_train; the default is for "
               "validation"),
      tenon::param("scaled_decoding", true)
          .doc("whether a JPEG is decoded at 1/2, 1/4 or 1/8 of its size if the transforms shrink it that far anyway; "
               "faster, with slightly different pixels"),
      tenon::param("background", std::vector<int64_t>{})
          .range("[0, 255]")
          .doc("red, green and blue below transparent pixels, such as [255, 255, 255]; empty: transparency is dropped, "
               "and the colours are used as stored"),
      tenon::param("max_value", images::Rendering().max_value)
          .range("[1, 65535]")
          .doc("value in images with 16 bits that becomes 255, as all larger ones: 4095 for 12 bits of a camera or "
               "scanner"),
      tenon::param("max_pixels", images::Limits().max_pixels)
          .range("[1, 1e10]")
          .doc("largest width x height of an image that is decoded; a larger one ends the run"),
      tenon::param("cache", "none")
          .choices({"none", "memory", "disk"})
          .doc("where images are cached after the leading resize and center_crop transforms, so that they are decoded "
               "once; the pixels are the same as without a cache"),
      tenon::param("cache_bytes", int64_t{4} << 30)
          .range("[1, 1e15]")
          .doc("maximum memory for cache = \"memory\", in bytes; images that do not fit are decoded each time"),
      tenon::param("cache_dir", tenon::Path{""})
          .doc("folder for cache = \"disk\", outside the folder of the images; several runs may share it, and it may "
               "be deleted at any time"),
  };
}

ImageReader::ImageReader(const tenon::Params& params)
    : chain_(params.texts("transforms")),
      rendering_(read_rendering(params)),
      scaling_(params.boolean("scaled_decoding") ? images::Scaling::dct : images::Scaling::none),
      limits_{params.integer("max_pixels")},
      cache_kind_(params.text("cache")),
      cache_bytes_(static_cast<uint64_t>(params.integer("cache_bytes"))),
      cache_dir_(params.path("cache_dir")) {
  if (cache_kind_ != "none" && !chain_.has_fixed_part() && scaling_ != images::Scaling::none) {
    throw tenon::Error(
        TENON_INVALID_ARGUMENT,
        "parameter \"cache\" is \"" + cache_kind_ +
            "\", and \"transforms\" begins with neither resize nor center_crop, so each sample decodes its JPEG at a "
            "different scale; begin with one of them, or set scaled_decoding = false to cache whole images");
  }
  if (cache_kind_ == "disk" && cache_dir_.empty()) {
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "parameter \"cache\" is \"disk\", and \"cache_dir\" is empty; expected a folder");
  }
  images::load_decoders();
  cv::setNumThreads(1);  // the data workers are the threads
}

void ImageReader::expect_images(size_t count) {
  if (cache_kind_ == "memory") cache_ = std::make_unique<MemoryCache>(count, cache_bytes_);
  if (cache_kind_ == "disk") cache_ = std::make_unique<DiskCache>(cache_dir_, recipe());
}

// This version of the file format fixes the definitions of the transforms.
std::string ImageReader::recipe() const {
  return chain_.fixed_part() + format_json(rendering_) +
         (scaling_ == images::Scaling::dct ? "scaled, " : "full size, ") + images::describe_decoders() + '\n';
}

ImageReader::Worker ImageReader::open_worker() const {
  // Another library may have raised it. Workers are opened at the same time, and setNumThreads() is not safe then.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (cv::getNumThreads() != 1) cv::setNumThreads(1);
  Worker worker;
  worker.decoder = images::Decoder(rendering_);
  return worker;
}

tenon::Preprocessing ImageReader::preprocessing(const std::string& name) const {
  std::string steps = chain_.format_steps();
  return {name, steps.insert(steps.find('}'), format_json(rendering_))};  // at the end of the first step, decode
}

ImageReader::Examination ImageReader::examine(size_t count, const Open& open) const {
  constexpr size_t kMost = 32;
  constexpr int64_t kMostPixels = 50'000'000;  // that are decoded, in a fraction of a second
  Examination result;
  Finding transparent, deep, several;
  int largest = 0;
  int64_t pixels = 0;
  Worker worker = open_worker();
  for (size_t k = 0; k < std::min(count, kMost) && pixels < kMostPixels; ++k) {
    const size_t number = spread_index(k, count);
    try {
      const std::unique_ptr<const ImageFile> image = open(number);
      const std::string place = image->place();
      image->read(worker.file);
      const images::ImageInfo info = images::read_image_info(worker.file, place, limits_);
      ++result.count;
      if (info.has_more_images) several.add(place);
      if (info.orientation != 1) result.turned.push_back({number, info.orientation});
      if (info.bits < 16 && !info.has_alpha) continue;
      images::decode_image(worker.file, info, place, worker.decoder);
      pixels += int64_t{info.size.width} * info.size.height;
      const images::PixelContent& content = worker.decoder.content();
      if (content.is_transparent) transparent.add(place);
      if (info.bits == 16) deep.add(place);
      largest = std::max(largest, content.largest);
    } catch (const tenon::DataError&) {
    }
  }
  if (transparent.count() > 0) warn_of_transparency(transparent.print(result.count));
  if (deep.count() > 0) warn_of_range(deep.print(result.count), largest);
  if (several.count() > 0) warn_of_frames(several.print(result.count));
  return result;
}

int ImageReader::read_orientation(const ImageFile& image) const {
  std::vector<uint8_t> file;
  image.read(file);
  return images::read_image_info(file, image.place(), limits_).orientation;
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
  if (rendering_.max_value != images::Rendering().max_value || largest == 0 || largest >= kLow) return;
  if (has_warned_of_range_.exchange(true)) return;
  int most = 1;
  while (most < largest) most = 2 * most + 1;
  tenon::log_warning("the largest 16-bit value in " + found + " is " + std::to_string(largest) +
                     ", and 65535 becomes 255, so the images are almost black; expected values that fill 16 bits, or "
                     "their range: set max_value = " +
                     std::to_string(most));
}

tenon::Field ImageReader::field(const std::string& name, const std::string& what) const {
  if (chain_.normalizes()) {
    return {name, TENON_FLOAT32, chain_.shape(), what + ": red, green and blue, normalised"};
  }
  return {name, TENON_UINT8, chain_.shape(), what + ": red, green and blue, 0 to 255"};
}

std::vector<int64_t> ImageReader::extents() const {
  const std::vector<int64_t> shape = chain_.shape();
  return chain_.normalizes() ? std::vector<int64_t>{shape[1], shape[2]} : std::vector<int64_t>{shape[0], shape[1]};
}

cv::Size ImageReader::write(Worker& worker, size_t number, const ImageFile& image, uint64_t seed,
                            const tenon::Sink& sink, const std::string& field) const {
  worker.orientation = 0;
  if (!cache_) return write_directly(worker, image, seed, sink, field);
  std::optional<PreparedImage> prepared = cache_->find(number, image, worker.cached);
  if (!prepared) {
    prepared = prepare(worker, image);
    cache_->keep(number, image, *prepared, worker.cached);
  }
  const images::SampledTransforms rest =
      at_place(image, [&] { return chain_.sample_rest(prepared->pixels.size(), seed); });
  const cv::Rect window = rest.window();
  write_sampled(rest, prepared->pixels(window), cv::Rect2d(0, 0, window.width, window.height), worker, sink, field);
  return prepared->whole;
}

// Reads the file into the worker.
images::ImageInfo ImageReader::read_info(Worker& worker, const ImageFile& image, const std::string& place) const {
  image.read(worker.file);
  const images::ImageInfo info = images::read_image_info(worker.file, place, limits_);
  worker.orientation = info.orientation;
  if (info.has_more_images) warn_of_frames(place);
  return info;
}

cv::Size ImageReader::write_directly(Worker& worker, const ImageFile& image, uint64_t seed, const tenon::Sink& sink,
                                     const std::string& field) const {
  const std::string place = image.place();
  const images::ImageInfo info = read_info(worker, image, place);
  const images::SampledTransforms sampled = draw(info.size, seed, image);
  const images::DecodedWindow decoded = decode(worker, info, sampled, place);
  write_sampled(sampled, decoded.image, decoded.place, worker, sink, field);
  return info.size;
}

// The pixels belong to the worker.
PreparedImage ImageReader::prepare(Worker& worker, const ImageFile& image) const {
  const std::string place = image.place();
  const images::ImageInfo info = read_info(worker, image, place);
  const images::SampledTransforms fixed = at_place(image, [&] { return chain_.draw_fixed_part(info.size); });
  const images::DecodedWindow decoded = decode(worker, info, fixed, place);
  cv::Mat pixels = worker.prepared.make(fixed.size(), CV_8UC3);
  fixed.write(decoded.image, decoded.place, worker.buffers, pixels.data);
  return {info.size, pixels};
}

images::DecodedWindow ImageReader::decode(Worker& worker, const images::ImageInfo& info,
                                          const images::SampledTransforms& sampled, const std::string& place) const {
  images::DecodedWindow decoded =
      images::decode_window(worker.file, info, place, sampled.window(), sampled.reduction(), worker.decoder, scaling_);
  if (!worker.decoder.warning().empty()) report_warning(place, worker.decoder.warning());
  if (worker.decoder.content().is_transparent) warn_of_transparency(place);
  if (info.bits == 16) note_range(place, worker.decoder.content().largest);
  return decoded;
}

void ImageReader::write_sampled(const images::SampledTransforms& sampled, const cv::Mat& pixels,
                                const cv::Rect2d& place, Worker& worker, const tenon::Sink& sink,
                                const std::string& field) const {
  const int64_t height = sampled.size().height;
  const int64_t width = sampled.size().width;
  if (chain_.normalizes()) {
    sampled.write(pixels, place, worker.buffers, sink.slot<float>(field, {3, height, width}));
  } else {
    sampled.write(pixels, place, worker.buffers, sink.slot<uint8_t>(field, {height, width, 3}));
  }
}

images::SampledTransforms ImageReader::draw(cv::Size size, uint64_t seed, const ImageFile& image) const {
  return at_place(image, [&] { return chain_.draw(size, seed); });
}

}  // namespace datasets

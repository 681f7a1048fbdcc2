#include "plugins/datasets/shared/image_reader.h"

#include <atomic>
#include <mutex>

#include "plugins/datasets/shared/disk_cache.h"
#include "plugins/datasets/shared/memory_cache.h"

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
  return chain_.fixed_part() + (scaling_ == images::Scaling::dct ? "scaled, " : "full size, ") +
         images::describe_decoders() + '\n';
}

ImageReader::Worker ImageReader::open_worker() const {
  // Another library may have raised it. Workers are opened at the same time, and setNumThreads() is not safe then.
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  if (cv::getNumThreads() != 1) cv::setNumThreads(1);
  return {};
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

cv::Size ImageReader::write_directly(Worker& worker, const ImageFile& image, uint64_t seed, const tenon::Sink& sink,
                                     const std::string& field) const {
  const std::string place = image.place();
  image.read(worker.file);
  const images::ImageInfo info = images::read_image_info(worker.file, place, limits_);
  const images::SampledTransforms sampled = draw(info.size, seed, image);
  const images::DecodedWindow decoded = decode(worker, info, sampled, place);
  write_sampled(sampled, decoded.image, decoded.place, worker, sink, field);
  return info.size;
}

// The pixels belong to the worker.
PreparedImage ImageReader::prepare(Worker& worker, const ImageFile& image) const {
  const std::string place = image.place();
  image.read(worker.file);
  const images::ImageInfo info = images::read_image_info(worker.file, place, limits_);
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

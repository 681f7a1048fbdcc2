#include "framework/images/library/images_table.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <string>
#include <utility>
#include <vector>

#include <tenon/detail/guard.hpp>
#include <tenon/dtype.hpp>
#include <tenon/error.hpp>

#include "framework/formats/regular_file.h"
#include "framework/images/decode/image_info.h"
#include "framework/images/library/call_plugin_transform.h"
#include "framework/images/library/target_buffers.h"
#include "framework/images/reader/image_reader.h"

struct tenon_image_pipeline {
  images::ImageReader reader;
  std::vector<int64_t> shape;
  std::string steps;
  std::string moving;
  std::string shifting;
  mutable std::atomic<bool> has_sample_indices = false;  // whether the dataset has called sample_indices()

  explicit tenon_image_pipeline(const images::ReaderSettings& settings)
      : reader(settings),
        shape(reader.chain().shape()),
        steps(reader.format_steps()),
        moving(reader.chain().list_moving(/*counts_scaling=*/true)),
        shifting(reader.chain().list_moving(/*counts_scaling=*/false)) {}
};

struct tenon_image_worker {
  const tenon_image_pipeline& pipeline;
  images::ImageReader::Worker buffers;
  std::vector<images::MovedTarget> targets;  // the first `target_count` are those of the last image
  size_t target_count = 0;
  std::array<images::PixelBuffer, 2> plugin_memory = {};
};

namespace images {
namespace {

using tenon::detail::borrow;
using tenon::detail::check;
using tenon::detail::copy;
using tenon::detail::guard;

// An image that a plugin describes. The plugin keeps what the source borrows.
class PluginImage final : public ImageFile {
 public:
  explicit PluginImage(const tenon_image_source& source) : source_(source), place_(copy(source.place)) {
    if (source.read && !source.identify)
      throw tenon::Error(TENON_INVALID_ARGUMENT, place_ + ": its source has `read`, but not `identify`");
  }

  std::string place() const override { return place_; }
  std::string listed() const override { return copy(source_.listed); }

  void read(std::vector<uint8_t>& bytes) const override {
    if (!source_.read) return read_file(place_, bytes);
    if (source_.byte_count > INT32_MAX)
      throw tenon::DataError(place_ + ": has " + std::to_string(source_.byte_count) +
                             " bytes; expected at most 2147483647");
    bytes.resize(static_cast<size_t>(source_.byte_count));
    check(source_.read(source_.context, bytes.data()));
  }

  std::string identity() const override {
    if (!source_.read) return formats::identify_file(place_);
    std::string identity;
    tenon_text_sink sink = {};
    sink.size = sizeof sink;
    sink.context = &identity;
    sink.put = [](const tenon_text_sink* self, tenon_string text) {
      return guard([&] { static_cast<std::string*>(self->context)->append(text.data, text.size); });
    };
    check(source_.identify(source_.context, &sink));
    return identity;
  }

 private:
  tenon_image_source source_;
  std::string place_;
};

// A struct of a plugin that was built with other headers may have more members, but not fewer than `least` bytes.
template <class Struct>
void check_size(const Struct* given, const char* name, uint64_t least = sizeof(Struct)) {
  if (!given || given->size < least)
    throw tenon::Error(TENON_INVALID_ARGUMENT, std::string("a ") + name + " has the size " +
                                                   std::to_string(given ? given->size : 0) + "; expected " +
                                                   std::to_string(least) + " or more: set its member size");
}

template <class Body>
tenon_status guard_image(const tenon_image_source* source, Body&& body) {
  return guard([&] {
    check_size(source, "tenon_image_source");
    const PluginImage image(*source);
    with_listing(image, [&] { body(image); });
  });
}

tenon_value read_param(const tenon_params* params, const std::string& name) {
  tenon_value value = tenon_none();
  const tenon_status status = tenon::detail::host->param(params, borrow(name), &value);
  if (status == TENON_NOT_FOUND)
    throw tenon::Error(status, "the schema of the dataset has no parameter \"" + name +
                                   "\"; expected those of image_params(), or a pipeline of the transforms alone: "
                                   "ImagePipeline(params, \"transforms\")");
  check(status);
  return value;
}

[[noreturn]] void refuse_type(const std::string& name, const char* expected) {
  throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"" + name + "\" of the images has another type than " +
                                                 expected + "; expected the declaration in tenon/draft/images.hpp");
}

int64_t check_range(const std::string& name, int64_t value, int64_t lowest, int64_t highest) {
  if (value >= lowest && value <= highest) return value;
  throw tenon::Error(TENON_INVALID_ARGUMENT, "parameter \"" + name + "\" has the number " + std::to_string(value) +
                                                 "; expected one from " + std::to_string(lowest) + " to " +
                                                 std::to_string(highest));
}

int64_t read_integer(const tenon_params* params, const char* name, int64_t highest) {
  const tenon_value value = read_param(params, name);
  if (value.kind != TENON_VALUE_INT) refuse_type(name, "an integer");
  return check_range(name, value.as.i, 1, highest);
}

std::string read_text(const tenon_params* params, const char* name) {
  const tenon_value value = read_param(params, name);
  if (value.kind != TENON_VALUE_STRING) refuse_type(name, "a string");
  return {static_cast<const char*>(value.as.p), static_cast<size_t>(value.n)};
}

// `transforms`: the name of the only parameter to read, or empty for all.
ReaderSettings read_settings(const tenon_params* params, const std::string& transforms) {
  ReaderSettings settings;
  if (!transforms.empty()) settings.transforms_parameter = transforms;
  const tenon_value chain = read_param(params, settings.transforms_parameter);
  if (chain.kind != TENON_VALUE_STRINGS) refuse_type(settings.transforms_parameter, "a list of strings");
  const auto* entries = static_cast<const tenon_string*>(chain.as.p);
  for (uint64_t i = 0; i < chain.n; ++i) settings.transforms.push_back(copy(entries[i]));
  if (!transforms.empty()) return settings;
  const tenon_value scaled = read_param(params, "scaled_decoding");
  if (scaled.kind != TENON_VALUE_BOOL) refuse_type("scaled_decoding", "a boolean");
  settings.scaled_decoding = scaled.as.i != 0;
  const tenon_value background = read_param(params, "background");
  if (background.kind != TENON_VALUE_INTS) refuse_type("background", "a list of integers");
  const auto* levels = static_cast<const int64_t*>(background.as.p);
  for (uint64_t i = 0; i < background.n; ++i)
    settings.background.push_back(check_range("background", levels[i], 0, 255));
  settings.max_value = read_integer(params, "max_value", 65535);
  settings.max_pixels = read_integer(params, "max_pixels", 10'000'000'000);
  settings.cache = read_text(params, "cache");
  settings.cache_bytes = static_cast<uint64_t>(read_integer(params, "cache_bytes", INT64_MAX));
  settings.cache_dir = read_text(params, "cache_dir");
  return settings;
}

void write_info(const ImageInfo& from, tenon_image_info* info) {
  if (!info) return;
  check_size(info, "tenon_image_info");
  info->height = from.size.height;
  info->width = from.size.width;
  info->orientation = from.orientation;
  info->channels = from.channels;
  info->bits = from.bits;
  info->has_alpha = from.has_alpha ? 1 : 0;
}

tenon_status create(const tenon_params* params, tenon_string transforms, tenon_image_pipeline** out) {
  return guard([&] { *out = new tenon_image_pipeline(read_settings(params, copy(transforms))); });
}

void destroy(tenon_image_pipeline* pipeline) { delete pipeline; }

tenon_status describe(const tenon_image_pipeline* pipeline, tenon_image_format* out) {
  return guard([&] {
    check_size(out, "tenon_image_format", TENON_SIZE_TO(tenon_image_format, shifting));
    out->dtype = pipeline->reader.chain().normalizes() ? TENON_FLOAT32 : TENON_UINT8;
    out->ndim = static_cast<uint32_t>(pipeline->shape.size());
    out->shape = pipeline->shape.data();
    out->steps = borrow(pipeline->steps);
    out->moving = borrow(pipeline->moving);
    out->shifting = borrow(pipeline->shifting);
    if (out->size >= TENON_SIZE_TO(tenon_image_format, is_random))
      out->is_random = pipeline->reader.chain().is_random();
  });
}

tenon_status examine(const tenon_image_pipeline* pipeline, const tenon_image_list* list, uint64_t* examined) {
  return guard([&] {
    check_size(list, "tenon_image_list");
    const auto open = [&](size_t number) -> std::unique_ptr<const ImageFile> {
      tenon_image_source source = {};
      source.size = sizeof source;
      check(list->open(list->context, number, &source));
      check_size(&source, "tenon_image_source");
      return std::make_unique<PluginImage>(source);
    };
    const auto found_orientation = [&](size_t number, int orientation) {
      if (list->found_orientation) check(list->found_orientation(list->context, number, orientation));
    };
    *examined = pipeline->reader.examine(static_cast<size_t>(list->count), open, found_orientation);
    tenon::detail::host->fail(TENON_BAD_DATA, tenon_string{});  // forgets the errors of images that were left out
  });
}

tenon_status open_worker(const tenon_image_pipeline* pipeline, tenon_image_worker** out) {
  return guard([&] { *out = new tenon_image_worker{*pipeline, pipeline->reader.open_worker(), {}}; });
}

void close_worker(tenon_image_worker* worker) { delete worker; }

tenon_status inspect(tenon_image_worker* worker, const tenon_image_source* source, tenon_image_info* out) {
  return guard_image(source, [&](const PluginImage& image) {
    write_info(worker->pipeline.reader.inspect(worker->buffers, image), out);
  });
}

tenon_status decode(tenon_image_worker* worker, const tenon_image_source* source, uint32_t form, tenon_pixels* out) {
  return guard_image(source, [&](const PluginImage& image) {
    check_size(out, "tenon_pixels");
    ImageInfo info = {};
    cv::Mat pixels;
    switch (form) {
      case TENON_DECODE_RGB: pixels = worker->pipeline.reader.decode_rgb(worker->buffers, image, info); break;
      case TENON_DECODE_MASK: pixels = worker->pipeline.reader.decode_mask(worker->buffers, image, info); break;
      case TENON_DECODE_STORED: pixels = worker->pipeline.reader.decode_as_stored(worker->buffers, image, info); break;
      default:
        throw tenon::Error(TENON_INVALID_ARGUMENT, "an image is decoded in the form " + std::to_string(form) +
                                                       "; expected TENON_DECODE_RGB or another one");
    }
    if (form != TENON_DECODE_MASK) {
      // A copy stays when the decoder reads the next image. There is no dtype for unsigned numbers of 16 bits.
      const int depth = pixels.depth() == CV_16U ? CV_32S : pixels.depth();
      cv::Mat kept = worker->buffers.decoded.make(pixels.size(), CV_MAKETYPE(depth, pixels.channels()));
      pixels.convertTo(kept, depth);
      pixels = kept;
    }
    out->elements = pixels.data;
    out->height = pixels.rows;
    out->width = pixels.cols;
    out->channels = pixels.channels();
    out->dtype = pixels.depth() == CV_8U ? TENON_UINT8 : pixels.depth() == CV_32S ? TENON_INT32 : TENON_FLOAT32;
    out->orientation = info.orientation;
  });
}

// The boxes of an image, for transforms that depend on them.
std::vector<float> boxes_of(const tenon_image_input& input, const TransformChain& chain) {
  std::vector<float> boxes;
  if (!chain.needs_boxes()) return boxes;
  bool has_boxes = false;
  for (uint64_t i = 0; i < input.target_count; ++i) {
    if (input.targets[i]->kind != TENON_IMAGE_BOXES) continue;
    has_boxes = true;
    append_boxes(*input.targets[i], boxes);
  }
  if (!has_boxes)
    throw tenon::Error(
        TENON_INVALID_ARGUMENT,
        "the transform random_iou_crop needs the boxes of an image, and this dataset passes none; expected "
        "a dataset with boxes, or transforms without random_iou_crop");
  return boxes;
}

tenon_status sample_indices(const tenon_image_pipeline* pipeline, int64_t index, int64_t length, uint64_t seed,
                            int64_t* indices, uint64_t* count) {
  return guard([&] {
    if (!indices || !count) throw tenon::Error(TENON_INVALID_ARGUMENT, "sample_indices: a null result");
    pipeline->has_sample_indices = true;
    if (index < 0 || index >= length)
      throw tenon::Error(TENON_INVALID_ARGUMENT, "there is no sample " + std::to_string(index) +
                                                     "; the number of samples is " + std::to_string(length));
    const TransformChain& chain = pipeline->reader.chain();
    *count = 1;
    indices[0] = index;
    if (!chain.draws_mosaic(seed)) return;
    static_assert(kMosaicImages == TENON_MAX_IMAGES);
    const auto samples = chain.choose_samples(index, length, seed);
    std::copy(samples.begin(), samples.end(), indices);
    *count = samples.size();
  });
}

void check_count(const tenon_image_worker& worker, uint64_t count, bool draws_mosaic) {
  // At the first sample, also if no mosaic is drawn for it.
  if (worker.pipeline.reader.chain().mosaic() && !worker.pipeline.has_sample_indices)
    throw tenon::Error(TENON_INVALID_ARGUMENT,
                       "the transforms begin with mosaic, which combines " + std::to_string(kMosaicImages) +
                           " samples, and this dataset passes one; expected a dataset that passes those of "
                           "ImagePipeline::sample_indices(), or transforms without mosaic");
  const uint64_t expected = draws_mosaic ? kMosaicImages : 1;
  if (count != expected)
    throw tenon::Error(TENON_INVALID_ARGUMENT, "a sample has " + std::to_string(count) + " images; expected the " +
                                                   std::to_string(expected) +
                                                   " of ImagePipeline::sample_indices() for its seed");
}

void check_input(const tenon_image_input& input, const tenon_image_input& first) {
  check_size(&input, "tenon_image_input");
  check_size(input.source, "tenon_image_source");
  const PluginImage image(*input.source);
  with_listing(image, [&] {
    if (input.target_count != first.target_count)
      throw tenon::Error(TENON_INVALID_ARGUMENT, "the images of a sample have " + std::to_string(first.target_count) +
                                                     " and " + std::to_string(input.target_count) +
                                                     " targets; expected the same number");
    if (input.target_count > 0 && !input.targets)
      throw tenon::Error(TENON_INVALID_ARGUMENT, "the targets of an image are null");
    for (uint64_t i = 0; i < input.target_count; ++i) {
      const tenon_image_target* target = input.targets[i];
      check_size(target, "tenon_image_target");
      check_target(*target, i);
      check_same_layout(*first.targets[i], *target, i);
      check_numbers(*target, image.place());
    }
  });
}

void move_all_targets(tenon_image_worker* worker, const tenon_image_input* const* images, const SampleMotion& motion) {
  const auto count = static_cast<size_t>(images[0]->target_count);
  if (worker->targets.size() < count) worker->targets.resize(count);
  for (size_t i = 0; i < count; ++i) {
    std::vector<const tenon_image_target*> targets;
    for (size_t k = 0; k < motion.images.size(); ++k) targets.push_back(images[k]->targets[i]);
    move_targets(targets, motion, worker->buffers.buffers, worker->targets[i]);
  }
  worker->target_count = count;
}

void write_one(tenon_image_worker* worker, const tenon_image_input* const* images, uint64_t seed,
               const ImageReader::MakeSlot& make_slot, tenon_image_info* info) {
  const PluginImage image(*images[0]->source);
  with_listing(image, [&] {
    const ImageReader& reader = worker->pipeline.reader;
    const std::vector<float> boxes = boxes_of(*images[0], reader.chain());
    const ImageReader::Written written = reader.write(worker->buffers, image, boxes, seed, make_slot);
    const cv::Size size = written.info.size;
    write_info(written.info, info);
    if (images[0]->target_count == 0) return;
    const SampledTransforms transforms =
        written.transforms ? *written.transforms : reader.draw(size, boxes, seed, image);
    const auto find_orientation = [&] { return reader.inspect(worker->buffers, image).orientation; };
    move_all_targets(worker, images,
                     {{{size, motions_of(transforms.geometry(), size), image.place(), find_orientation, &transforms}}});
  });
}

void write_mosaic(tenon_image_worker* worker, const tenon_image_input* const* images, uint64_t seed,
                  const ImageReader::MakeSlot& make_slot, tenon_image_info* info) {
  const ImageReader& reader = worker->pipeline.reader;
  std::vector<PluginImage> files;
  files.reserve(kMosaicImages);
  std::array<const ImageFile*, kMosaicImages> pointers;
  for (size_t k = 0; k < kMosaicImages; ++k) pointers[k] = &files.emplace_back(*images[k]->source);
  const std::vector<ImageReader::PlacedTile> tiles = reader.read_mosaic(worker->buffers, pointers, seed);
  write_info(tiles[0].info, info);

  const cv::Size canvas = worker->buffers.canvas.size();
  std::vector<Steps> to_canvas;
  std::vector<float> boxes;
  for (size_t k = 0; k < kMosaicImages; ++k) {
    Steps& steps = to_canvas.emplace_back(tiles[k].transforms.geometry());
    steps.push_back(Crop{{-tiles[k].place.tl(), canvas}, {}});
    const std::vector<float> of_image = boxes_of(*images[k], reader.chain());
    const std::vector<float> moved =
        move_boxes(of_image, BoxFormat::xyxy, 0, motions_of(steps, tiles[k].info.size)).values;
    boxes.insert(boxes.end(), moved.begin(), moved.end());
  }
  const SampledTransforms rest = reader.write_mosaic(worker->buffers, files[0], boxes, seed, make_slot);
  if (images[0]->target_count == 0) return;
  SampleMotion motion = {{}, &rest};
  for (size_t k = 0; k < kMosaicImages; ++k) {
    Steps& steps = to_canvas[k];
    for (const Step& step : rest.geometry()) steps.push_back(step);
    const cv::Size size = tiles[k].info.size;
    motion.images.push_back({size, motions_of(steps, size), files[k].place(),
                             [&, k] { return reader.inspect(worker->buffers, files[k]).orientation; },
                             &tiles[k].transforms, tiles[k].place});
  }
  move_all_targets(worker, images, motion);
}

// Applies the plugins' transforms, and the stages after them.
void write_stages(tenon_image_worker* worker, const tenon_image_input& first, uint64_t seed,
                  const ImageReader::MakeSlot& make_slot) {
  const ImageReader& reader = worker->pipeline.reader;
  const TransformChain& chain = reader.chain();
  const PluginImage image(*first.source);
  const size_t count = std::exchange(worker->target_count, 0);  // no target is left after an error
  const std::vector<const tenon_image_target*> described(first.targets, first.targets + count);
  std::vector<MovedTarget*> moved;
  for (size_t i = 0; i < count; ++i) moved.push_back(&worker->targets[i]);
  for (size_t k = 0; k < chain.plugin_count(); ++k) {
    const TransformChain::DrawnPlugin drawn = chain.draw_plugin(k, seed);
    if (drawn.transform)
      call_plugin_transform(*drawn.transform, drawn.seed, described, moved, worker->buffers.stage,
                            worker->plugin_memory);
    TransformChain::Boxes boxes;
    for (size_t i = 0; chain.needs_boxes() && i < count; ++i)
      if (described[i]->kind == TENON_IMAGE_BOXES) append_boxes(describe_moved(*described[i], *moved[i]), boxes);
    const SampledTransforms next = reader.write_stage(worker->buffers, k + 1, boxes, seed, image, make_slot);
    for (size_t i = 0; i < count; ++i) move_again(*described[i], next, worker->buffers.buffers, *moved[i]);
  }
  worker->target_count = count;
}

tenon_status write(tenon_image_worker* worker, const tenon_image_input* const* images, uint64_t count, uint64_t seed,
                   const tenon_sink* sink, uint64_t field, tenon_image_info* info) {
  return guard([&] {
    worker->target_count = 0;
    const TransformChain& chain = worker->pipeline.reader.chain();
    const bool draws_mosaic = chain.draws_mosaic(seed);
    if (!images || !sink) throw tenon::Error(TENON_INVALID_ARGUMENT, "write: null images or a null sink");
    check_count(*worker, count, draws_mosaic);
    for (uint64_t k = 0; k < count; ++k) check_input(*images[k], *images[0]);
    const auto make_slot = [&](cv::Size size) {
      const int64_t planes[] = {3, size.height, size.width};
      const int64_t interleaved[] = {size.height, size.width, 3};
      void* memory = nullptr;
      check(sink->slot(sink, field, chain.normalizes() ? planes : interleaved, 3, &memory));
      return memory;
    };
    if (draws_mosaic) {
      write_mosaic(worker, images, seed, make_slot, info);
    } else {
      write_one(worker, images, seed, make_slot, info);
    }
    if (chain.plugin_count() > 0) write_stages(worker, *images[0], seed, make_slot);
  });
}

tenon_status moved(tenon_image_worker* worker, uint64_t index, tenon_moved_target* out) {
  return guard([&] {
    check_size(out, "tenon_moved_target");
    if (index >= worker->target_count)
      throw tenon::Error(TENON_INVALID_ARGUMENT, "the last image has no target " + std::to_string(index) +
                                                     "; the number of its targets is " +
                                                     std::to_string(worker->target_count));
    const MovedTarget& target = worker->targets[static_cast<size_t>(index)];
    out->values = target.is_mask ? static_cast<const void*>(target.mask.data()) : target.rows.values.data();
    out->shape = target.shape.data();
    out->ndim = static_cast<uint32_t>(target.shape.size());
    out->kept_indices = target.rows.kept_indices.data();
    out->kept_images = target.kept_images.data();
    out->kept_count = target.rows.kept_indices.size();
    out->lengths = target.rows.lengths.data();
  });
}

}  // namespace

const tenon_images& open_images(const tenon_host& host, const PluginTransforms* plugin_transforms) {
  tenon::detail::host = &host;
  use_plugin_transforms(plugin_transforms);
  static constexpr tenon_images kTable = {sizeof(tenon_images), create,  destroy, describe,       examine, open_worker,
                                          close_worker,         inspect, decode,  sample_indices, write,   moved};
  return kTable;
}

void describe_transforms(void* context, void (*add)(void* context, const DescribedTransform* transform)) {
  for (const TransformKind& kind : all_transforms()) {
    std::vector<std::string> values;
    for (const Argument& argument : kind.arguments) values.push_back(argument.describe_values());
    std::vector<DescribedArgument> arguments;
    for (size_t i = 0; i < values.size(); ++i)
      arguments.push_back({borrow(kind.arguments[i].name), borrow(values[i]), borrow(kind.arguments[i].default_value),
                           borrow(kind.arguments[i].doc)});
    const DescribedTransform described = {borrow(kind.name), borrow(kind.doc), borrow(kind.source), arguments.data(),
                                          arguments.size()};
    add(context, &described);
  }
}

}  // namespace images

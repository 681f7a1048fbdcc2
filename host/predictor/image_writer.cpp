#include "host/predictor/image_writer.h"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include <tenon/draft/images.h>

#include "framework/components/calls/component.h"
#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/calls/image_library.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"

namespace tenon::predictor {

using nlohmann::json;
using support::Error;
using support::ErrorKind;

namespace {

constexpr int64_t kMostBytes = INT32_MAX;
constexpr int64_t kDefaultPixels = 178956970;  // of image_params() in tenon/draft/images.hpp

void check_status(tenon_status status, const std::string& place) {
  if (status == TENON_OK) return;
  const ErrorKind kind = status == TENON_BAD_DATA ? ErrorKind::data : ErrorKind::plugin;
  throw Error(kind, "{}: {}", place, components::detail::failure);
}

// An argument of a transform as a list of transforms has it: `(0.485, 0.456)`, `bilinear`.
std::string format_argument(const json& value) {
  if (value.is_string()) {
    const auto text = value.get<std::string>();
    const bool is_word = text.find_first_not_of("abcdefghijklmnopqrstuvwxyz0123456789_") == text.npos;
    return is_word && !text.empty() ? text : "'" + text + "'";
  }
  if (!value.is_array()) return value.dump();
  std::string text = "(";
  for (const json& number : value) text += (text.size() > 1 ? ", " : "") + number.dump();
  return text + ")";
}

// The parameters of the image library for these steps.
config::Values read_settings(const json& steps) {
  std::vector<std::string> transforms;
  for (size_t i = 1; i < steps.size(); ++i) {
    std::string arguments;
    for (const auto& [name, value] : steps[i].items())
      if (name != "name" && name != "divide_by")
        arguments += (arguments.empty() ? "" : ", ") + name + "=" + format_argument(value);
    transforms.push_back(steps[i].at("name").get<std::string>() + "(" + arguments + ")");
  }
  const json& decode = steps.front();
  return {{"transforms", transforms},
          {"scaled_decoding", decode.value("scaled_decoding", true)},
          {"background", decode.value("background", std::vector<int64_t>())},
          {"max_value", decode.value("max_value", int64_t{65535})},
          {"max_pixels", decode.value("max_pixels", kDefaultPixels)},
          {"cache", std::string("none")},
          {"cache_bytes", int64_t{1}},
          {"cache_dir", std::string()}};
}

class ImageWriter final : public FieldWriter {
 public:
  ImageWriter(const ModelField& field, tenon_image_pipeline* pipeline) : FieldWriter(field), pipeline_(pipeline) {
    accepts_ |= TENON_INPUT_IMAGE | TENON_INPUT_PIXELS;
  }
  ~ImageWriter() override {
    for (tenon_image_worker* worker : free_) library().close_worker(worker);
    library().destroy(pipeline_);
  }

  static const tenon_images& library() { return components::open_image_library(components::host_table()); }

 protected:
  void write_other(const tenon_predictor_value& value, const std::string& place,
                   const components::SampleSlot& slot) const override {
    std::vector<uint8_t> encoded;
    ImageBytes bytes{static_cast<const uint8_t*>(value.data), value.byte_count};
    if (value.kind == TENON_INPUT_PIXELS) {
      encoded = encode_pixels(value, place);
      bytes = {encoded.data(), encoded.size()};
    }
    if (!bytes.data || bytes.count > kMostBytes)
      throw Error(ErrorKind::configuration, "{}: the image has {} bytes; expected at most {}", place,
                  bytes.data ? bytes.count : 0, kMostBytes);
    tenon_image_source source{};
    source.size = sizeof source;
    source.place = components::to_tenon(place);
    source.context = &bytes;
    source.byte_count = bytes.count;
    source.read = [](void* context, void* to) {
      const auto& from = *static_cast<const ImageBytes*>(context);
      std::memcpy(to, from.data, from.count);
      return tenon_status{TENON_OK};
    };
    source.identify = [](void*, const tenon_text_sink*) { return tenon_status{TENON_OK}; };
    tenon_image_input input{};
    input.size = sizeof input;
    input.source = &source;
    const tenon_image_input* const inputs[] = {&input};
    const Worker worker(*this, place);
    const tenon_status status = write_to_sink(place, slot, [&](const tenon_sink& sink) {
      return library().write(worker.get(), inputs, 1, /*seed=*/0, &sink, 0, nullptr);
    });
    // The message names the image by its place.
    if (status != TENON_OK)
      throw Error(status == TENON_BAD_DATA ? ErrorKind::data : ErrorKind::plugin, components::detail::failure);
  }

 private:
  struct ImageBytes {
    const uint8_t* data;
    uint64_t count;
  };
  // Borrows the buffers of a thread.
  class Worker {
   public:
    Worker(const ImageWriter& writer, const std::string& place) : writer_(writer) {
      {
        const std::lock_guard lock(writer_.mutex_);
        if (!writer_.free_.empty()) {
          worker_ = writer_.free_.back();
          writer_.free_.pop_back();
          return;
        }
      }
      check_status(library().open_worker(writer_.pipeline_, &worker_), place);
    }
    ~Worker() {
      const std::lock_guard lock(writer_.mutex_);
      writer_.free_.push_back(worker_);
    }
    Worker(const Worker&) = delete;
    Worker& operator=(const Worker&) = delete;
    tenon_image_worker* get() const { return worker_; }

   private:
    const ImageWriter& writer_;
    tenon_image_worker* worker_ = nullptr;
  };

  // The image library reads files. A PNM file (netpbm.sourceforge.net/doc/ppm.html) is a line of text and the pixels.
  static std::vector<uint8_t> encode_pixels(const tenon_predictor_value& value, const std::string& place) {
    const bool is_grey = value.pixels == TENON_PIXELS_GREY;
    if (!is_grey && value.pixels != TENON_PIXELS_RGB && value.pixels != TENON_PIXELS_BGR)
      throw Error(ErrorKind::configuration,
                  "{}: the pixels have the order {}; expected TENON_PIXELS_RGB, ..._BGR or ..._GREY", place,
                  value.pixels);
    const int64_t channels = is_grey ? 1 : 3;
    const bool has_size = value.ndim == 2 && value.shape && value.data && value.shape[0] > 0 && value.shape[1] > 0 &&
                          value.shape[0] <= kMostBytes / channels / value.shape[1];
    if (!has_size)
      throw Error(ErrorKind::configuration,
                  "{}: the pixels have no data, or no shape [height, width] of at most {} bytes", place, kMostBytes);
    const int64_t height = value.shape[0], row = value.shape[1] * channels;
    const int64_t step = value.row_bytes == 0 ? row : value.row_bytes;
    if (step < row)
      throw Error(ErrorKind::configuration, "{}: row_bytes is {}; expected at least {}", place, step, row);
    const std::string head = fmt::format("{}\n{} {}\n255\n", is_grey ? "P5" : "P6", value.shape[1], height);
    std::vector<uint8_t> encoded(head.begin(), head.end());
    encoded.resize(head.size() + static_cast<size_t>(height * row));
    uint8_t* to = encoded.data() + head.size();
    for (int64_t y = 0; y < height; ++y, to += row) {
      const uint8_t* const from = static_cast<const uint8_t*>(value.data) + y * step;
      if (value.pixels != TENON_PIXELS_BGR) {
        std::memcpy(to, from, static_cast<size_t>(row));
        continue;
      }
      for (int64_t x = 0; x < row; x += 3) {
        to[x] = from[x + 2];
        to[x + 1] = from[x + 1];
        to[x + 2] = from[x];
      }
    }
    return encoded;
  }

  tenon_image_pipeline* pipeline_;
  mutable std::mutex mutex_;
  mutable std::vector<tenon_image_worker*> free_;
};

}  // namespace

std::unique_ptr<FieldWriter> make_image_writer(const ModelField& field) {
  const json steps = json::parse(field.preprocessing);
  if (!steps.is_array() || steps.empty() || steps.front().value("name", "") != "decode") return nullptr;
  const config::Values settings = read_settings(steps);
  const tenon_params params(settings);
  tenon_image_pipeline* pipeline = nullptr;
  check_status(ImageWriter::library().create(&params, {}, &pipeline), "the preprocessing of " + field.name);
  auto writer = std::make_unique<ImageWriter>(field, pipeline);
  tenon_image_format format{};
  format.size = sizeof format;
  check_status(ImageWriter::library().describe(pipeline, &format), "the preprocessing of " + field.name);
  const std::span<const int64_t> shape(format.shape, format.ndim);
  if (format.dtype != field.dtype || !std::ranges::equal(shape, field.shape))
    throw Error(ErrorKind::checkpoint, "the preprocessing of {} makes another dtype or shape than the field has",
                field.name);
  if (format.is_random == 0) return writer;
  support::log_warning(
      "the preprocessing of {} is random, so the input accepts elements alone; expected transforms that draw nothing: "
      "export with a validation dataset that has such transforms",
      field.name);
  return nullptr;
}

}  // namespace tenon::predictor

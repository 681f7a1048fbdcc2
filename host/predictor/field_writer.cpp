#include "host/predictor/field_writer.h"

#include <algorithm>
#include <cstring>
#include <optional>
#include <utility>

#include "framework/components/calls/ports.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"
#include "host/predictor/image_writer.h"

namespace tenon::predictor {

using support::Error;
using support::ErrorKind;

namespace {

constexpr std::pair<uint32_t, const char*> kKinds[] = {{TENON_INPUT_ELEMENTS, "TENON_INPUT_ELEMENTS"},
                                                       {TENON_INPUT_IMAGE, "TENON_INPUT_IMAGE"},
                                                       {TENON_INPUT_PIXELS, "TENON_INPUT_PIXELS"},
                                                       {TENON_INPUT_ROW, "TENON_INPUT_ROW"}};

std::string name_kinds(uint32_t kinds) {
  std::string names;
  for (const auto& [kind, name] : kKinds)
    if ((kinds & kind) != 0) names += (names.empty() ? "" : " or ") + std::string(name);
  return names;
}

std::string describe_shape(std::span<const int64_t> shape) {
  return components::to_string(components::exact_shape({shape.begin(), shape.end()}));
}

// The bytes of a sample of this shape; nothing if the field cannot have it.
std::optional<size_t> count_fitting_bytes(std::span<const int64_t> shape, const components::SampleField& field) {
  const bool fits = std::ranges::equal(shape, field.shape, [](int64_t found, int64_t declared) {
    return declared == -1 ? found >= 0 : found == declared;
  });
  return fits ? components::count_sample_bytes(shape, field.element_bytes) : std::nullopt;
}

// Rows that the plugin of the dataset encodes.
class EncodedWriter final : public FieldWriter {
 public:
  explicit EncodedWriter(const ModelField& field) : FieldWriter(field), encoder_(*field.encoder) {
    if (!encoder_.columns().empty()) accepts_ |= TENON_INPUT_ROW;
    columns_ = encoder_.columns();
  }

 protected:
  void write_other(const tenon_predictor_value& value, const std::string& place,
                   const components::SampleSlot& slot) const override {
    if (!value.cells || value.cell_count != columns_.size())
      throw Error(ErrorKind::configuration, "{}: the row has {} cells; expected {}, one for each column", place,
                  value.cells ? value.cell_count : 0, columns_.size());
    const std::vector<tenon_string> cells(value.cells, value.cells + value.cell_count);
    write_to_sink(place, slot, [&](const tenon_sink& sink) {
      encoder_.encode(cells, sink, place);
      return TENON_OK;
    });
  }

 private:
  const components::ValueEncoder& encoder_;
};

}  // namespace

FieldWriter::FieldWriter(const ModelField& field) : field_(field) {}

void FieldWriter::write(const tenon_predictor_value& value, uint64_t sample, const components::SampleSlot& slot) const {
  const std::string place = fmt::format("sample {}, input {}", sample, field_.name);
  const bool is_known =
      std::ranges::find(kKinds, value.kind, &std::pair<uint32_t, const char*>::first) != std::end(kKinds);
  if (!is_known || (value.kind & accepts_) == 0)
    throw Error(ErrorKind::configuration, "{}: the value has the kind {}; expected {}", place,
                is_known ? name_kinds(value.kind) : std::to_string(value.kind), name_kinds(accepts_));
  if (value.kind == TENON_INPUT_ELEMENTS)
    write_elements(value, place, slot);
  else
    write_other(value, place, slot);
}

void FieldWriter::write_elements(const tenon_predictor_value& value, const std::string& place,
                                 const components::SampleSlot& slot) const {
  if (value.ndim > 0 && !value.shape)
    throw Error(ErrorKind::configuration, "{}: the value has ndim {}, but shape is null", place, value.ndim);
  std::vector<int64_t> shape(value.shape, value.shape + value.ndim);
  if (shape.empty() && !field_.is_varying()) shape = field_.shape;
  const auto bytes = count_fitting_bytes(shape, field_);
  if (!bytes)
    throw Error(ErrorKind::configuration, "{}: the value has the shape {}; expected {}", place, describe_shape(shape),
                describe_shape(field_.shape));
  if (value.byte_count != *bytes || (*bytes > 0 && !value.data))
    throw Error(ErrorKind::configuration, "{}: the value has {} bytes; expected {} for the shape {} of {}", place,
                value.data ? value.byte_count : 0, *bytes, describe_shape(shape), components::dtype_name(field_.dtype));
  void* const memory = find_memory(shape, place, slot);
  if (*bytes > 0) std::memcpy(memory, value.data, *bytes);
}

void FieldWriter::write_other(const tenon_predictor_value&, const std::string&, const components::SampleSlot&) const {}

void* FieldWriter::find_memory(std::span<const int64_t> shape, const std::string& place,
                               const components::SampleSlot& slot) const {
  const auto bytes = count_fitting_bytes(shape, field_);
  if (!bytes)
    throw Error(ErrorKind::configuration, "{}: becomes the shape {}; the model was trained with {}", place,
                describe_shape(shape), describe_shape(field_.shape));
  return slot.fixed ? slot.fixed : slot.varying->resize(shape, *bytes);
}

tenon_status FieldWriter::find_slot(const tenon_sink* sink, uint64_t, const int64_t* shape, uint32_t ndim,
                                    void** memory) {
  auto& target = *static_cast<SinkTarget*>(sink->context);
  try {
    *memory = target.writer.find_memory({shape, ndim}, target.place, target.slot);
    return TENON_OK;
  } catch (...) {
    target.error = std::current_exception();
    return TENON_FAILED;
  }
}

std::unique_ptr<FieldWriter> make_field_writer(const ModelField& field) {
  if (field.encoder) return std::make_unique<EncodedWriter>(field);
  if (auto writer = make_image_writer(field)) return writer;
  return std::make_unique<FieldWriter>(field);
}

}  // namespace tenon::predictor

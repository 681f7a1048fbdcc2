#include "framework/components/kinds/dataset.h"

#include <tenon/class_names.h>
#include <tenon/draft/fitted_data.h>
#include <tenon/preprocessing.h>
#include <tenon/sample_names.h>
#include <tenon/sample_order.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <set>
#include <sstream>
#include <stdexcept>

#include "framework/components/calls/log_name.h"
#include "framework/components/calls/ports.h"
#include "framework/components/kinds/missing_paths.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/printable.h"

namespace tenon::components {

using support::Error;
using support::ErrorKind;

namespace {

// The target of a sink's context while one sample is written.
struct Slots {
  const Dataset* dataset;
  std::span<const SampleSlot> memory;
  uint64_t requested;  // requested fields, one bit each
};

bool fits(std::span<const int64_t> found, const std::vector<int64_t>& declared) {
  return std::equal(found.begin(), found.end(), declared.begin(), declared.end(),
                    [](int64_t extent, int64_t declared_extent) {
                      return declared_extent == -1 ? extent >= 0 : extent == declared_extent;
                    });
}

std::string describe_shape(std::span<const int64_t> shape) {
  return to_string(exact_shape({shape.begin(), shape.end()}));
}

std::string describe(const SampleField& field, std::span<const int64_t> shape) {
  return field.name + " has the shape " + describe_shape(shape);
}

tenon_status open_varying_slot(const SampleField& field, VaryingSample& sample, std::span<const int64_t> shape,
                               void** memory) {
  const std::optional<size_t> bytes = count_sample_bytes(shape, field.element_bytes);
  if (!bytes)
    return fail(TENON_INVALID_ARGUMENT, "the sample's " + describe(field, shape) + "; expected at most " +
                                            std::to_string(kMaxSampleBytes >> 30) +
                                            " GiB, counting an extent of 0 as 1");
  try {
    *memory = sample.resize(shape, *bytes);
    return TENON_OK;
  } catch (const std::bad_alloc&) {
    return fail(TENON_FAILED, "the sample's " + describe(field, shape) + ": its " + std::to_string(*bytes >> 20) +
                                  " MiB cannot be allocated");
  }
}

// A second request for a field returns the same memory with its contents. The shape must be the same.
tenon_status open_slot(const tenon_sink* sink, uint64_t index, const int64_t* shape, uint32_t ndim, void** memory) {
  auto& slots = *static_cast<Slots*>(sink->context);
  const auto& fields = slots.dataset->fields();
  if (index >= fields.size())
    return fail(TENON_INVALID_ARGUMENT, "requested the slot of field " + std::to_string(index) + "; the dataset has " +
                                            std::to_string(fields.size()) + " fields");
  const SampleField& field = fields[index];
  if (const auto fault = find_shape_fault(ndim, shape))
    return fail(TENON_INVALID_ARGUMENT, "the sample's " + field.name + " " + *fault);
  const std::span<const int64_t> found(shape, ndim);
  if (!fits(found, field.shape))
    return fail(TENON_INVALID_ARGUMENT,
                "the sample's " + describe(field, found) + "; expected " + describe_shape(field.shape) +
                    " as declared in fields" +
                    (field.is_varying() ? ", with the sample's extent, 0 or more, in place of each -1" : ""));

  const SampleSlot& slot = slots.memory[index];
  const bool is_first = (slots.requested & (uint64_t{1} << index)) == 0;
  if (slot.fixed) {
    *memory = slot.fixed;
  } else if (is_first) {
    if (const tenon_status status = open_varying_slot(field, *slot.varying, found, memory)) return status;
  } else {
    if (!std::ranges::equal(found, slot.varying->shape()))
      return fail(TENON_INVALID_ARGUMENT, "the sample's " + describe(field, found) + ", but was requested before as " +
                                              describe_shape(slot.varying->shape()));
    *memory = slot.varying->data();
  }
  slots.requested |= uint64_t{1} << index;
  return TENON_OK;
}

// The target is a string.
tenon_status append_text(const tenon_text_sink* sink, tenon_string bytes) {
  if (!bytes.data && bytes.size > 0)
    return fail(TENON_INVALID_ARGUMENT, "put " + std::to_string(bytes.size) + " bytes, which are NULL");
  try {
    static_cast<std::string*>(sink->context)->append(bytes.data, bytes.size);
    return TENON_OK;
  } catch (const std::exception&) {
    return fail(TENON_FAILED, "put " + std::to_string(bytes.size) + " bytes, for which there is no memory");
  }
}

// Reads a field from the plugin's declaration. Throws std::invalid_argument with the reason if it is invalid.
SampleField read_field(const tenon_field& declared) {
  SampleField field{to_string(declared.name), declared.dtype, {}, dtype_bytes(declared.dtype), 0};
  if (field.element_bytes == 0)
    throw std::invalid_argument("has the dtype " + std::to_string(field.dtype) + ", which does not exist");
  if (const auto fault = find_shape_fault(declared.ndim, declared.shape)) throw std::invalid_argument(*fault);
  if (declared.ndim > 0) field.shape.assign(declared.shape, declared.shape + declared.ndim);
  for (const int64_t extent : field.shape)
    if (extent < 1 && extent != -1)
      throw std::invalid_argument("has the shape " + describe_shape(field.shape) +
                                  "; expected extents of at least 1, or -1 where they differ between samples");
  const std::optional<size_t> bytes = count_sample_bytes(field.shape, field.element_bytes);
  if (!bytes) throw std::invalid_argument("has the shape " + describe_shape(field.shape) + ", which is too large");
  if (!field.is_varying()) {
    field.sample_bytes = *bytes;
    return field;
  }
  const double padding = TENON_HAS(&declared, tenon_field, padding) ? declared.padding : 0;
  const std::optional<Element> element = encode_element(field.dtype, padding);
  if (!element) {
    std::ostringstream value;
    value << padding;
    throw std::invalid_argument("is padded with " + value.str() + ", which its dtype " + dtype_name(field.dtype) +
                                " cannot hold");
  }
  field.padding = *element;
  return field;
}

[[noreturn]] void refuse_number(const Component& component, const char* function, size_t sample,
                                const std::string& found, const char* expected) {
  throw Error(ErrorKind::plugin, component.describe() + ", " + function + ": sample " + std::to_string(sample) +
                                     " has " + found + "; expected " + expected);
}

Instance<tenon_dataset> create(const Component& component, const config::NamedDataset& plan) {
  const LogName name(plan.name);
  const auto* const extension =
      plan.fitted.empty() ? nullptr : extension_of<tenon_fitted_data>(component, TENON_FITTED_DATA);
  if (!extension || !extension->create) return {component, plan};
  return {component, plan, "fitted_data.create", [&](const tenon_params& params, void** self) {
            return extension->create(&host_table(), &params, to_tenon(plan.fitted), self);
          }};
}

}  // namespace

Dataset::Dataset(const Component& component, const config::NamedDataset& plan) try
    : name_(plan.name), sample_unit_(plan.name + " sample"), instance_(create(component, plan)) {
  instance_.call([&](const tenon_dataset& table) { return table.length(instance_.self(), &size_); }, "length");
  if (size_ <= 0)
    throw Error(ErrorKind::data, plan.place + ": " + component.describe() + " has " +
                                     support::format_count(size_, "sample") + "; expected at least one");
  read_fields();
  read_classes();
  read_preprocessing();
  tokenizer_ = Tokenizer::read(component, instance_.self(), fields_);
} catch (const Error& error) {
  throw Error(error.kind(), error.what() + suggest_paths(component, plan, error.what()));
}

void Dataset::read_fields() {
  const tenon_field* const* fields = nullptr;
  uint64_t count = 0;
  instance_.call([&](const tenon_dataset& table) { return table.fields(instance_.self(), &fields, &count); }, "fields");
  const ResultScope scope(component(), "fields, reading its result");
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::plugin, component().describe() + ", fields: " + what);
  };
  if (count > 0 && !fields)
    refuse("returns a count of " + std::to_string(count) +
           " fields, but the list is NULL; expected a list of 1 to 64 fields");
  if (count == 0 || count > 64) refuse("returns " + std::to_string(count) + " fields; expected 1 to 64");
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    if (!fields[i] || fields[i]->size < TENON_SIZE_TO(tenon_field, doc))
      refuse("field " + std::to_string(i) + " is null or cut short");
    const std::string name = to_string(fields[i]->name);
    if (name.empty() || !names.insert(name).second)
      refuse("field " + std::to_string(i) + " is called \"" + name + "\"; expected a unique name");
    try {
      fields_.push_back(read_field(*fields[i]));
    } catch (const std::invalid_argument& error) {
      refuse(name + " " + error.what());
    }
  }
}

void Dataset::read_classes() {
  const auto* extension = instance_.extension<tenon_class_lists>(TENON_CLASS_NAMES);
  if (!extension || !extension->classes) return;
  const tenon_class_names* const* lists = nullptr;
  uint64_t count = 0;
  instance_.call([&](const tenon_dataset&) { return extension->classes(instance_.self(), &lists, &count); },
                 "class_names.classes");
  const ResultScope scope(component(), "class_names.classes, reading its result");
  classes_ = read_class_lists(component(), lists, count, fields_);
}

void Dataset::read_preprocessing() {
  const auto* extension = instance_.extension<tenon_preprocessing_lists>(TENON_PREPROCESSING);
  if (!extension || !extension->lists) return;
  const tenon_preprocessing* const* lists = nullptr;
  uint64_t count = 0;
  instance_.call([&](const tenon_dataset&) { return extension->lists(instance_.self(), &lists, &count); },
                 "preprocessing.lists");
  const ResultScope scope(component(), "preprocessing.lists, reading its result");
  preprocessing_ = read_field_steps(component(), lists, count, fields_);
}

std::string Dataset::read_fitted_data() const {
  const auto* const extension = instance_.extension<tenon_fitted_data>(TENON_FITTED_DATA);
  std::string bytes;
  if (!extension || !extension->save) return bytes;
  const tenon_text_sink sink{sizeof sink, &bytes, append_text};
  instance_.call([&](const tenon_dataset&) { return extension->save(instance_.self(), &sink); }, "fitted_data.save");
  if (bytes.empty())
    throw Error(ErrorKind::plugin, component().describe() + ", fitted_data.save: put no bytes; expected at least one");
  return bytes;
}

std::optional<uint64_t> Dataset::read_fingerprint() const {
  if (!instance_.has(&tenon_dataset::fingerprint)) return std::nullopt;
  uint64_t fingerprint = 0;
  instance_.call([&](const tenon_dataset& table) { return table.fingerprint(instance_.self(), &fingerprint); },
                 "fingerprint");
  return fingerprint;
}

bool Dataset::names_samples() const {
  const auto* const extension = instance_.extension<tenon_sample_names>(TENON_SAMPLE_NAMES);
  return extension && extension->name;
}

std::string Dataset::name_sample(int64_t index) const {
  const auto* const extension = instance_.extension<tenon_sample_names>(TENON_SAMPLE_NAMES);
  std::string name;
  const tenon_text_sink sink{sizeof sink, &name, append_text};
  instance_.call([&](const tenon_dataset&) { return extension->name(instance_.self(), index, &sink); },
                 "sample_names.name", At{sample_unit_.c_str(), index});
  if (name.empty())
    throw Error(ErrorKind::plugin, component().describe() + ", sample_names.name: put no name for sample " +
                                       std::to_string(index) + "; expected a text");
  return support::escape_control_characters(name);
}

std::optional<std::vector<int64_t>> Dataset::read_lengths() const {
  const auto* extension = instance_.extension<tenon_sample_lengths>(TENON_SAMPLE_LENGTHS);
  if (!extension || !extension->lengths) return std::nullopt;
  std::vector<int64_t> lengths(static_cast<size_t>(size_));
  call_plugin(component(), "sample_lengths.lengths",
              [&] { return extension->lengths(instance_.self(), lengths.data()); });
  for (size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0)
      refuse_number(component(), "sample_lengths.lengths", i, std::to_string(lengths[i]), "0 or more");
  return lengths;
}

std::optional<std::vector<double>> Dataset::read_weights() const {
  const auto* extension = instance_.extension<tenon_sample_weights>(TENON_SAMPLE_WEIGHTS);
  if (!extension || !extension->weights) return std::nullopt;
  std::vector<double> weights(static_cast<size_t>(size_));
  call_plugin(component(), "sample_weights.weights",
              [&] { return extension->weights(instance_.self(), weights.data()); });
  for (size_t i = 0; i < weights.size(); ++i)
    if (!(weights[i] >= 0) || std::isinf(weights[i]))
      refuse_number(component(), "sample_weights.weights", i, std::to_string(weights[i]), "a finite number, 0 or more");
  if (std::ranges::all_of(weights, [](double weight) { return weight == 0; }))
    throw Error(ErrorKind::plugin, component().describe() +
                                       ", sample_weights.weights: all are 0; expected at least one "
                                       "above 0");
  return weights;
}

void* Dataset::open_worker(uint64_t worker_id, uint64_t seed) const {
  void* worker = nullptr;
  if (instance_.table().open_worker)
    instance_.call(
        [&](const tenon_dataset& table) { return table.open_worker(instance_.self(), worker_id, seed, &worker); },
        "open_worker", [&] { return "worker " + std::to_string(worker_id); });
  return worker;
}

void Dataset::close_worker(void* worker) const noexcept {
  if (!instance_.table().close_worker) return;
  try {
    instance_.call(
        [&](const tenon_dataset& table) {
          table.close_worker(instance_.self(), worker);
          return TENON_OK;
        },
        "close_worker");
  } catch (const std::exception&) {
    // The samples were delivered. The run does not depend on the clean-up.
  }
}

void Dataset::get(void* worker, const tenon_sample& sample, std::span<const SampleSlot> memory) const {
  Slots slots{this, memory, 0};
  const tenon_sink sink{sizeof(tenon_sink), &slots, open_slot};
  const At which{sample_unit_.c_str(), sample.index};
  instance_.call([&](const tenon_dataset& table) { return table.get(instance_.self(), worker, &sample, &sink); }, "get",
                 which);
  const uint64_t all = fields_.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << fields_.size()) - 1;
  if (slots.requested != all) {
    const size_t missing = static_cast<size_t>(__builtin_ctzll(~slots.requested));
    throw Error(ErrorKind::plugin, component().describe() + ", get (" + which() + "): did not write the field " +
                                       fields_[missing].name + "; every field must be requested once per sample");
  }
}

ShapePattern sample_pattern(const SampleField& field) {
  ShapePattern pattern = exact_shape(field.shape);
  for (ShapePattern::Extent& extent : pattern.extents)
    if (extent.size == -1) extent = {std::nullopt, "?"};
  return pattern;
}

}  // namespace tenon::components

#include "framework/components/kinds/dataset.h"

#include <tenon/class_names.h>
#include <tenon/draft/field_details.h>
#include <tenon/draft/fitted_data.h>
#include <tenon/prepare.h>
#include <tenon/preprocessing.h>
#include <tenon/sample_names.h>
#include <tenon/sample_order.h>

#include <algorithm>
#include <cmath>
#include <new>
#include <optional>
#include <set>
#include <stdexcept>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/ports.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"
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
    return fail(TENON_INVALID_ARGUMENT, "the sample's {}; expected at most {} GiB, counting an extent of 0 as 1",
                describe(field, shape), kMaxSampleBytes >> 30);
  try {
    *memory = sample.resize(shape, *bytes);
    return TENON_OK;
  } catch (const std::bad_alloc&) {
    return fail(TENON_FAILED, "the sample's {}: its {} MiB cannot be allocated", describe(field, shape), *bytes >> 20);
  }
}

// A second request for a field returns the same memory with its contents. The shape must be the same.
tenon_status open_slot(const tenon_sink* sink, uint64_t index, const int64_t* shape, uint32_t ndim, void** memory) {
  auto& slots = *static_cast<Slots*>(sink->context);
  const auto& fields = slots.dataset->fields();
  if (index >= fields.size())
    return fail(TENON_INVALID_ARGUMENT, "requested the slot of field {}; the dataset has {} fields", index,
                fields.size());
  const SampleField& field = fields[index];
  if (const auto fault = find_shape_fault(ndim, shape))
    return fail(TENON_INVALID_ARGUMENT, "the sample's " + field.name + " " + *fault);
  const std::span<const int64_t> found(shape, ndim);
  if (!fits(found, field.shape))
    return fail(TENON_INVALID_ARGUMENT, "the sample's {}; expected {} as declared in fields{}", describe(field, found),
                describe_shape(field.shape),
                field.is_varying() ? ", with the sample's extent, 0 or more, in place of each -1" : "");

  const SampleSlot& slot = slots.memory[index];
  const bool is_first = (slots.requested & (uint64_t{1} << index)) == 0;
  if (slot.fixed) {
    *memory = slot.fixed;
  } else if (is_first) {
    if (const tenon_status status = open_varying_slot(field, *slot.varying, found, memory)) return status;
  } else {
    if (!std::ranges::equal(found, slot.varying->shape()))
      return fail(TENON_INVALID_ARGUMENT, "the sample's {}, but was requested before as {}", describe(field, found),
                  describe_shape(slot.varying->shape()));
    *memory = slot.varying->data();
  }
  if (!is_first && detail::call_observer)
    detail::call_observer->on_violation("requested the slot of " + field.name + " twice; expected once");
  slots.requested |= uint64_t{1} << index;
  return TENON_OK;
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
  if (!element)
    throw std::invalid_argument(
        fmt::format("is padded with {:g}, which its dtype {} cannot hold", padding, dtype_name(field.dtype)));
  field.padding = *element;
  return field;
}

// Comparing the settings of the process takes longer than many a get, and most changes happen in the first calls, so
// only the calls 1, 64, 4096 and each further 4096th of a thread are followed by a comparison.
bool is_compared() {
  static thread_local uint64_t calls = 0;
  ++calls;
  return calls == 1 || calls == 64 || calls % 4096 == 0;
}

// Returns what a path that does not exist may mean, as "; did you mean photos?", for the first such parameter that the
// message names. "" if there is none.
std::string suggest_paths(const Component& component, const config::ComponentPlan& plan, const std::string& message) {
  for (const config::ParamSchema& param : component.schema.params) {
    const auto value = plan.params.find(param.name);
    if (param.type != config::ParamType::path || value == plan.params.end()) continue;
    const auto* const path = std::get_if<std::string>(&value->second);
    if (!path || path->empty() || support::path_exists(*path) || message.find(*path) == message.npos) continue;
    const std::string home = "/~/";  // the path is absolute
    if (const size_t at = path->find(home); at != path->npos)
      return "; a run file does not replace ~: write \"${HOME}/" + path->substr(at + home.size()) + "\"";
    if (path->find('\\') != path->npos) return "; the path has backslashes; expected / between folders";
    return support::suggest_path(*path, support::path_exists);
  }
  return "";
}

const tenon_prepare* find_preparation(const Component& dataset) {
  const auto* const extension = extension_of<tenon_prepare>(dataset, TENON_PREPARE);
  return extension && extension->prepare ? extension : nullptr;
}

// Calls the function of an extension, which writes one number for each sample, finite and 0 or more. Nothing without
// it.
template <class Extension, class Number>
std::optional<std::vector<Number>> read_numbers(const Instance<tenon_dataset>& dataset, int64_t samples, const char* id,
                                                tenon_status (*Extension::*field)(void*, Number*), const char* function,
                                                const char* expected) {
  const auto* const extension = dataset.extension<Extension>(id);
  if (!extension || !(extension->*field)) return std::nullopt;
  constexpr Number kUntouched = -12345;
  std::vector<Number> numbers(static_cast<size_t>(samples) + 1, kUntouched);
  dataset.call([&](const tenon_dataset&) { return (extension->*field)(dataset.self(), numbers.data()); }, function);
  if (numbers.back() != kUntouched)
    throw_plugin_error(dataset.component(), function, "writes more than {} numbers, one per sample", samples);
  numbers.pop_back();
  for (size_t i = 0; i < numbers.size(); ++i)
    if (!(numbers[i] >= 0) || std::isinf(numbers[i]))
      throw_plugin_error(dataset.component(), function, "sample {} has {}; expected {}", i, std::to_string(numbers[i]),
                         expected);
  return numbers;
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
    : name_(plan.name),
      sample_unit_(plan.name.empty() ? "sample" : plan.name + " sample"),
      instance_(create(component, plan)) {
  instance_.call([&](const tenon_dataset& table) { return table.length(instance_.self(), &size_); }, "length");
  if (size_ <= 0)
    throw Error(ErrorKind::data, "{}: {} has {}; expected at least one", plan.place, component.describe(),
                support::format_count(size_, "sample"));
  instance_.read_list(instance_.table(), &tenon_dataset::fields, "fields", "fields, reading its result",
                      [&](const auto* fields, uint64_t count) { read_fields(fields, count); });
  instance_.read_extension_list(
      TENON_CLASS_NAMES, &tenon_class_lists::classes, "class_names.classes", "class_names.classes, reading its result",
      [&](const auto* lists, uint64_t count) { classes_ = read_class_lists(component, lists, count, fields_); });
  instance_.read_extension_list(TENON_PREPROCESSING, &tenon_preprocessing_lists::lists, "preprocessing.lists",
                                "preprocessing.lists, reading its result", [&](const auto* lists, uint64_t count) {
                                  preprocessing_ = read_field_steps(component, lists, count, fields_);
                                });
  instance_.read_extension_list(TENON_FIELD_DETAILS, &tenon_field_details::details, "field_details.details",
                                "field_details.details, reading its result", [&](const auto* details, uint64_t count) {
                                  read_field_details(component, details, count, fields_);
                                });
  tokenizer_ = Tokenizer::read(component, instance_.self(), fields_);
} catch (const Error& error) {
  throw Error(error.kind(), error.what() + suggest_paths(component, plan, error.what()));
}

void Dataset::read_fields(const tenon_field* const* fields, uint64_t count) {
  const auto refuse = [&](const std::string& what) { throw_plugin_error(component(), "fields", what); };
  require_list(component(), "fields", fields, count, "fields", "a list of 1 to 64 fields");
  if (count == 0 || count > 64) refuse(fmt::format("returns {} fields; expected 1 to 64", count));
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    if (!fields[i] || fields[i]->size < TENON_SIZE_TO(tenon_field, doc))
      refuse(fmt::format("field {} is null or cut short", i));
    const std::string name = to_string(fields[i]->name);
    if (name.empty() || !names.insert(name).second)
      refuse(fmt::format("field {} is called \"{}\"; expected a unique name", i, name));
    try {
      fields_.push_back(read_field(*fields[i]));
    } catch (const std::invalid_argument& error) {
      refuse(name + " " + error.what());
    }
  }
}

std::string Dataset::read_fitted_data() const {
  const auto* const extension = instance_.extension<tenon_fitted_data>(TENON_FITTED_DATA);
  std::string bytes;
  if (!extension || !extension->save) return bytes;
  const tenon_text_sink sink = make_text_sink(bytes);
  instance_.call([&](const tenon_dataset&) { return extension->save(instance_.self(), &sink); }, "fitted_data.save");
  if (bytes.empty()) throw_plugin_error(component(), "fitted_data.save", "put no bytes; expected at least one");
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
  const tenon_text_sink sink = make_text_sink(name);
  instance_.call([&](const tenon_dataset&) { return extension->name(instance_.self(), index, &sink); },
                 "sample_names.name", At{sample_unit_.c_str(), index});
  if (name.empty())
    throw_plugin_error(component(), "sample_names.name", "put no name for sample {}; expected a text", index);
  return support::escape_control_characters(name);
}

std::optional<std::vector<int64_t>> Dataset::read_lengths() const {
  return read_numbers(instance_, size_, TENON_SAMPLE_LENGTHS, &tenon_sample_lengths::lengths, "sample_lengths.lengths",
                      "0 or more");
}

std::optional<std::vector<double>> Dataset::read_weights() const {
  auto weights = read_numbers(instance_, size_, TENON_SAMPLE_WEIGHTS, &tenon_sample_weights::weights,
                              "sample_weights.weights", "a finite number, 0 or more");
  if (weights && std::ranges::all_of(*weights, [](double weight) { return weight == 0; }))
    throw_plugin_error(component(), "sample_weights.weights", "all are 0; expected at least one above 0");
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
  if (is_compared()) restore_host_settings(component(), "get");
  const uint64_t all = fields_.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << fields_.size()) - 1;
  if (slots.requested != all) {
    const size_t missing = static_cast<size_t>(__builtin_ctzll(~slots.requested));
    throw_plugin_error(component(), fmt::format("get ({})", which()),
                       "did not write the field {}; every field must be requested once per sample",
                       fields_[missing].name);
  }
}

bool has_preparation(const Component& dataset) { return find_preparation(dataset) != nullptr; }

void prepare_dataset(const Component& dataset, const config::ComponentPlan& plan) {
  const tenon_prepare* const extension = find_preparation(dataset);
  if (!extension) return;
  const tenon_params params(plan.params);
  call_plugin(
      dataset, "prepare.prepare", [&] { return extension->prepare(&host_table(), &params); },
      [&] { return plan.place; });
}

ShapePattern sample_pattern(const SampleField& field) {
  ShapePattern pattern = exact_shape(field.shape);
  for (ShapePattern::Extent& extent : pattern.extents)
    if (extent.size == -1) extent = {std::nullopt, "?"};
  return pattern;
}

}  // namespace tenon::components

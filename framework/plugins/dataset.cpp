#include "framework/plugins/dataset.h"

#include <algorithm>
#include <set>

#include "framework/plugins/ports.h"
#include "framework/support/error.h"

namespace tenon::plugins {

using support::Error;
using support::ErrorKind;

namespace {

// What a sink's context points to while one sample is written.
struct Slots {
  const Dataset* dataset;
  std::span<std::byte* const> memory;
  uint64_t asked;  // a bit per field
};

tenon_status give_slot(const tenon_sink* sink, uint64_t index, const int64_t* shape, uint32_t rank, void** memory) {
  auto& slots = *static_cast<Slots*>(sink->context);
  const auto& fields = slots.dataset->fields();
  if (index >= fields.size())
    return fail(TENON_INVALID_ARGUMENT, "asked for the slot of field " + std::to_string(index) + "; the dataset has " +
                                            std::to_string(fields.size()) + " fields");
  const Dataset::Field& field = fields[index];
  if (rank != field.shape.size() || !std::equal(field.shape.begin(), field.shape.end(), shape)) {
    const std::vector<int64_t> found(shape, shape + rank);
    return fail(TENON_INVALID_ARGUMENT, "the sample's " + field.name + " has the shape " +
                                            to_string(exact_shape(found)) + "; expected " +
                                            to_string(exact_shape(field.shape)) + " as declared in fields");
  }
  slots.asked |= uint64_t{1} << index;
  *memory = slots.memory[index];
  return TENON_OK;
}

}  // namespace

Dataset::Dataset(const Component& component, const config::NamedDataset& plan)
    : name_(plan.name), instance_(component, plan) {
  instance_.call([&](const tenon_dataset& table) { return table.length(instance_.self(), &size_); }, "length");
  if (size_ <= 0)
    throw Error(ErrorKind::data, plan.place + ": " + component.describe() + " has " + std::to_string(size_) +
                                     " samples; expected at least one");
  read_fields();
}

void Dataset::read_fields() {
  const tenon_field* const* fields = nullptr;
  uint64_t count = 0;
  instance_.call([&](const tenon_dataset& table) { return table.fields(instance_.self(), &fields, &count); }, "fields");
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::plugin, component().describe() + ", fields: " + what);
  };
  if (count == 0 || count > 64 || !fields) refuse("gives " + std::to_string(count) + " fields; expected 1 to 64");
  std::set<std::string> names;
  for (uint64_t i = 0; i < count; ++i) {
    if (!fields[i] || fields[i]->size < TENON_SIZE_TO(tenon_field, doc))
      refuse("field " + std::to_string(i) + " is null or cut short");
    Field field{to_string(fields[i]->name), fields[i]->dtype, {}, dtype_bytes(fields[i]->dtype)};
    if (field.name.empty() || !names.insert(field.name).second)
      refuse("field " + std::to_string(i) + " is called \"" + field.name + "\"; expected a name of its own");
    if (field.sample_bytes == 0)
      refuse(field.name + " has the dtype " + std::to_string(field.dtype) + ", which does not exist");
    if (fields[i]->rank > 0) field.shape.assign(fields[i]->shape, fields[i]->shape + fields[i]->rank);
    for (const int64_t extent : field.shape) {
      if (extent < 1)
        refuse(field.name + " has the shape " + to_string(exact_shape(field.shape)) +
               "; expected extents of at least 1 (this host does not take fields of varying size yet)");
      if (__builtin_mul_overflow(field.sample_bytes, static_cast<size_t>(extent), &field.sample_bytes))
        refuse(field.name + " is too large");
    }
    fields_.push_back(std::move(field));
  }
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
    // The samples were delivered; a failing clean-up changes nothing that the run depends on.
  }
}

void Dataset::get(void* worker, const tenon_sample& sample, std::span<std::byte* const> memory) const {
  Slots slots{this, memory, 0};
  const tenon_sink sink{sizeof(tenon_sink), &slots, give_slot};
  const auto which = [&] { return name_ + " sample " + std::to_string(sample.index); };
  instance_.call([&](const tenon_dataset& table) { return table.get(instance_.self(), worker, &sample, &sink); }, "get",
                 which);
  const uint64_t all = fields_.size() == 64 ? ~uint64_t{0} : (uint64_t{1} << fields_.size()) - 1;
  if (slots.asked != all) {
    const size_t missing = static_cast<size_t>(__builtin_ctzll(~slots.asked));
    throw Error(ErrorKind::plugin, component().describe() + ", get (" + which() + "): did not write the field " +
                                       fields_[missing].name + "; every field must be asked for once per sample");
  }
}

}  // namespace tenon::plugins

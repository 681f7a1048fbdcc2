#include "framework/validation/session/sample_slots.h"

#include <algorithm>
#include <cstring>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/ports.h"

namespace tenon::validation {

namespace {

constexpr std::byte kGuardByte{0xC3};
constexpr size_t kLargestSample = size_t{1} << 30;

bool is_untouched(const std::byte* guard, size_t size) {
  return std::all_of(guard, guard + size, [](std::byte byte) { return byte == kGuardByte; });
}

}  // namespace

std::optional<size_t> DatasetField::bytes(const int64_t* extents, uint32_t ndim) const {
  if (ndim != shape.size() || (ndim > 0 && !extents)) return std::nullopt;
  size_t total = components::dtype_bytes(dtype);
  for (uint32_t i = 0; i < ndim; ++i) {
    const bool fits = shape[i] == -1 ? extents[i] >= 0 : extents[i] == shape[i];
    if (!fits || __builtin_mul_overflow(total, static_cast<size_t>(extents[i]), &total)) return std::nullopt;
  }
  return total <= kLargestSample ? std::optional(total) : std::nullopt;
}

tenon_status SampleSlots::refuse(const std::string& what) {
  if (error_.empty()) error_ = what;
  return components::fail(TENON_INVALID_ARGUMENT, what);
}

tenon_status SampleSlots::give(const tenon_sink* sink, uint64_t index, const int64_t* shape, uint32_t ndim,
                               void** memory) {
  auto& self = *static_cast<SampleSlots*>(sink->context);
  if (index >= self.fields_.size())
    return self.refuse("requested the slot of field " + std::to_string(index) + "; the number of fields is " +
                       std::to_string(self.fields_.size()));
  const DatasetField& field = self.fields_[index];
  const std::optional<size_t> bytes = field.bytes(shape, ndim);
  if (!bytes) {
    const std::vector<int64_t> found =
        shape ? std::vector<int64_t>(shape, shape + std::min(ndim, 64u)) : std::vector<int64_t>();
    return self.refuse("requested the slot of " + field.name + " with the shape " +
                       components::to_string(components::exact_shape(found)) + "; fields() declares " +
                       components::to_string(components::exact_shape(field.shape)));
  }
  if (self.slots_.contains(index)) return self.refuse("requested the slot of " + field.name + " twice; expected once");
  Slot& slot = self.slots_[index];
  slot.shape.assign(shape, shape + ndim);
  slot.memory.assign(*bytes + 2 * kGuard, kGuardByte);
  std::fill_n(slot.memory.data() + kGuard, *bytes, self.pattern_);
  *memory = slot.memory.data() + kGuard;
  return TENON_OK;
}

std::string SampleSlots::unrequested_fields() const {
  std::string names;
  for (size_t i = 0; i < fields_.size(); ++i)
    if (!slots_.contains(i)) names += (names.empty() ? "" : ", ") + fields_[i].name;
  return names;
}

std::string SampleSlots::fields_written_outside() const {
  std::string names;
  for (const auto& [index, slot] : slots_) {
    const std::string& name = fields_[index].name;
    const std::byte* const end = slot.memory.data() + slot.memory.size();
    if (!is_untouched(slot.memory.data(), kGuard))
      names += (names.empty() ? "" : ", ") + name + ", before its first byte";
    if (!is_untouched(end - kGuard, kGuard)) names += (names.empty() ? "" : ", ") + name + ", after its last byte";
  }
  return names;
}

std::vector<std::vector<std::byte>> SampleSlots::contents() const {
  std::vector<std::vector<std::byte>> all;
  for (const auto& [index, slot] : slots_) {
    std::vector<std::byte>& bytes = all.emplace_back(slot.shape.size() * sizeof(int64_t));
    if (!slot.shape.empty()) std::memcpy(bytes.data(), slot.shape.data(), bytes.size());
    bytes.insert(bytes.end(), slot.memory.begin() + kGuard, slot.memory.end() - kGuard);
  }
  return all;
}

}  // namespace tenon::validation

#include "framework/data/batch_ring.h"

#include <algorithm>
#include <cstring>
#include <iomanip>
#include <new>
#include <sstream>
#include <string>
#include <utility>

#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"

namespace tenon::data {

using support::AlignedBuffer;

namespace {

[[noreturn]] void throw_too_large(double slot_bytes, int64_t batch_size, int64_t slots) {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  std::ostringstream mebibytes;  // may be more than an integer holds
  mebibytes << std::fixed << std::setprecision(0) << slot_bytes * static_cast<double>(slots) / kMebibyte;
  throw support::Error(support::ErrorKind::configuration,
                       "data: " + std::to_string(slots) + " batches of " + support::format_count(batch_size, "sample") +
                           " take " + mebibytes.str() +
                           " MiB, which cannot be allocated; expected data.batch_size, data.validation_batch_size and "
                           "data.prefetch to fit into memory; make one of them smaller");
}

}  // namespace

BatchRing::BatchRing(const std::vector<Field>& fields, int64_t batch_size, int64_t slots)
    : fields_(fields), has_varying_fields_(std::ranges::any_of(fields, &Field::is_varying)) {
  TENON_CHECK(batch_size > 0 && slots > 0, "batch size " << batch_size << ", slots " << slots);
  double approximate_bytes = 0;  // as a double it cannot overflow
  for (const Field& field : fields) {
    const size_t sample_bytes = field.is_varying() ? sizeof(VaryingSample) : field.sample_bytes;
    approximate_bytes +=
        static_cast<double>(sample_bytes) * static_cast<double>(batch_size) + AlignedBuffer::kAlignment;
  }
  if (approximate_bytes > 0x1p62) throw_too_large(approximate_bytes, batch_size, slots);
  try {
    for (int64_t i = 0; i < slots; ++i) slots_.push_back(make_slot(batch_size));
  } catch (const std::bad_alloc&) {
    throw_too_large(approximate_bytes, batch_size, slots);
  }
}

BatchRing::Slot BatchRing::make_slot(int64_t batch_size) const {
  const auto bytes_of = [&](const Field& field) {
    return AlignedBuffer::round_up(field.sample_bytes * static_cast<size_t>(batch_size));
  };
  size_t bytes = 0;
  for (const Field& field : fields_) bytes += bytes_of(field);
  Slot slot;
  std::byte* start = slot.memory.reserve(bytes);
  for (const Field& field : fields_) {
    if (field.is_varying()) {
      slot.fields.push_back({nullptr, std::make_unique<PaddedField>(field, batch_size)});
    } else {
      slot.fields.push_back({start, nullptr});
      start += bytes_of(field);
    }
  }
  return slot;
}

void BatchRing::locate_sample(int64_t batch_number, int64_t place, std::vector<SampleSlot>& out) {
  const std::vector<FieldSlot>& fields = slots_[index(batch_number)].fields;
  for (size_t i = 0; i < fields.size(); ++i) {
    if (fields[i].padded)
      out[i] = {nullptr, &fields[i].padded->sample(place)};
    else
      out[i] = {fields[i].start + static_cast<size_t>(place) * fields_[i].sample_bytes, nullptr};
  }
}

void BatchRing::close_gaps(int64_t batch_number, int64_t size, std::span<const int64_t> places) {
  const std::vector<FieldSlot>& fields = slots_[index(batch_number)].fields;
  for (size_t gap = 0; gap < places.size(); ++gap) {
    // The samples up to the next gap move down by the number of gaps so far.
    const int64_t from = places[gap] + 1;
    const int64_t to = from - static_cast<int64_t>(gap) - 1;
    const int64_t count = (gap + 1 < places.size() ? places[gap + 1] : size) - from;
    for (size_t i = 0; i < fields.size(); ++i) {
      if (fields[i].padded) {
        for (int64_t k = 0; k < count; ++k)
          std::swap(fields[i].padded->sample(to + k), fields[i].padded->sample(from + k));
      } else {
        const size_t bytes = fields_[i].sample_bytes;
        std::byte* start = fields[i].start;
        std::memmove(start + static_cast<size_t>(to) * bytes, start + static_cast<size_t>(from) * bytes,
                     static_cast<size_t>(count) * bytes);
      }
    }
  }
}

void BatchRing::pad(int64_t batch_number, int64_t size) {
  for (const FieldSlot& field : slots_[index(batch_number)].fields)
    if (field.padded) field.padded->pad(size);
}

void BatchRing::describe_batch(int64_t batch_number, int64_t size, Batch& out) const {
  const std::vector<FieldSlot>& fields = slots_[index(batch_number)].fields;
  out.size = size;
  out.fields.resize(size > 0 ? fields.size() : 0);
  for (size_t i = 0; i < out.fields.size(); ++i) {
    if (fields[i].padded) {
      out.fields[i] = fields[i].padded->block();
    } else {
      out.fields[i].data = fields[i].start;
      out.fields[i].shape.assign(1, size);
      out.fields[i].shape.insert(out.fields[i].shape.end(), fields_[i].shape.begin(), fields_[i].shape.end());
    }
  }
}

}  // namespace tenon::data

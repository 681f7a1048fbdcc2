#include "framework/data/batch_ring.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"

namespace tenon::data {
namespace {

using support::AlignedBuffer;

[[noreturn]] void throw_too_large(const std::string& name, const std::vector<int64_t>& shape, size_t element_bytes) {
  double bytes = static_cast<double>(element_bytes);  // as a double it cannot overflow
  std::string extents;
  for (const int64_t extent : shape) {
    bytes *= static_cast<double>(extent);
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  }
  std::string mebibytes = std::to_string(bytes / (1024.0 * 1024.0));
  mebibytes.resize(mebibytes.find('.'));
  throw support::Error(
      support::ErrorKind::configuration,
      "data: the field {}, padded to the largest sample of its batch, has the shape [{}] and takes {} MiB, "
      "which cannot be allocated; expected a batch to fit into memory; make data.batch_size, "
      "data.validation_batch_size or data.prefetch smaller",
      name, extents, mebibytes);
}

[[noreturn]] void throw_too_large(double slot_bytes, int64_t batch_size, int64_t slots) {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  throw support::Error(support::ErrorKind::configuration,
                       "data: {} batches of {} take {:.0f} MiB, which cannot be allocated; expected data.batch_size, "
                       "data.validation_batch_size and data.prefetch to fit into memory; make one of them smaller",
                       slots, support::format_count(batch_size, "sample"),
                       slot_bytes * static_cast<double>(slots) / kMebibyte);
}

}  // namespace

PaddedField::PaddedField(const Field& field, int64_t batch_size)
    : field_(field), samples_(static_cast<size_t>(batch_size)) {}

void PaddedField::pad(int64_t size) {
  TENON_CHECK(size > 0 && size <= static_cast<int64_t>(samples_.size()), "size " << size);
  block_.shape.assign(field_.shape.size() + 1, 0);
  block_.shape[0] = size;
  const std::span<int64_t> largest = std::span(block_.shape).subspan(1);
  for (size_t d = 0; d < largest.size(); ++d)
    if (field_.shape[d] == -1) largest[d] = field_.least_extent;
  for (int64_t i = 0; i < size; ++i)
    for (size_t d = 0; d < largest.size(); ++d) largest[d] = std::max(largest[d], sample(i).shape()[d]);

  block_.is_padded = false;
  block_.lengths.clear();
  for (int64_t i = 0; i < size; ++i) {
    block_.is_padded = block_.is_padded || !std::ranges::equal(sample(i).shape(), largest);
    for (size_t d = 0; d < largest.size(); ++d)
      if (field_.shape[d] == -1) block_.lengths.push_back(sample(i).shape()[d]);
  }

  const std::optional<size_t> part_bytes = components::count_sample_bytes(largest, field_.element_bytes);
  size_t bytes = 0;
  try {
    if (!part_bytes || __builtin_mul_overflow(*part_bytes, static_cast<size_t>(size), &bytes)) throw std::bad_alloc();
    block_.data = memory_.reserve(bytes);
  } catch (const std::bad_alloc&) {
    throw_too_large(field_.name, block_.shape, field_.element_bytes);
  }

  std::byte* to = block_.data;
  for (int64_t i = 0; i < size; ++i, to += *part_bytes)
    place(sample(i).shape(), sample(i).data(), sample(i).bytes(), largest, to, *part_bytes);
}

void PaddedField::place(std::span<const int64_t> shape, const std::byte* from, size_t from_bytes,
                        std::span<const int64_t> largest, std::byte* to, size_t to_bytes) const {
  if (from_bytes == 0) return fill(to, to_bytes);
  if (from_bytes == to_bytes) {  // then all extents are equal, because none is larger than that of the block
    std::memcpy(to, from, from_bytes);
    return;
  }
  const size_t from_row = from_bytes / static_cast<size_t>(shape[0]);
  const size_t to_row = to_bytes / static_cast<size_t>(largest[0]);
  const size_t used = to_row * static_cast<size_t>(shape[0]);
  if (from_row == to_row) {
    std::memcpy(to, from, from_bytes);
  } else {
    for (int64_t i = 0; i < shape[0]; ++i, from += from_row, to += to_row)
      place(shape.subspan(1), from, from_row, largest.subspan(1), to, to_row);
    to -= used;
  }
  fill(to + used, to_bytes - used);
}

void PaddedField::fill(std::byte* to, size_t bytes) const {
  if (bytes == 0) return;
  // Copies the filled part as a pattern, up to a size that stays in the L1 cache.
  constexpr size_t kMaxCount = 4096;
  size_t done = field_.element_bytes;
  std::memcpy(to, field_.padding.data(), done);
  while (done < bytes) {
    const size_t more = std::min({done, bytes - done, kMaxCount});
    std::memcpy(to + done, to, more);
    done += more;
  }
}

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

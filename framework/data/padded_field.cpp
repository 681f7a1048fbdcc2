#include "framework/data/padded_field.h"

#include <algorithm>
#include <cstring>
#include <new>
#include <optional>
#include <string>

#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::data {
namespace {

[[noreturn]] void throw_too_large(const std::string& name, const std::vector<int64_t>& shape, size_t element_bytes) {
  double bytes = static_cast<double>(element_bytes);  // as a double it cannot overflow
  std::string extents;
  for (const int64_t extent : shape) {
    bytes *= static_cast<double>(extent);
    extents += (extents.empty() ? "" : ", ") + std::to_string(extent);
  }
  std::string mebibytes = std::to_string(bytes / (1024.0 * 1024.0));
  mebibytes.resize(mebibytes.find('.'));
  throw support::Error(support::ErrorKind::configuration,
                       "data: the field " + name + ", padded to the largest sample of its batch, has the shape [" +
                           extents + "] and takes " + mebibytes +
                           " MiB, which cannot be allocated; expected a batch to fit into memory; make "
                           "data.batch_size, data.validation_batch_size or data.prefetch smaller");
}

}  // namespace

PaddedField::PaddedField(const Field& field, int64_t batch_size)
    : field_(field), samples_(static_cast<size_t>(batch_size)) {}

void PaddedField::pad(int64_t size) {
  TENON_CHECK(size > 0 && size <= static_cast<int64_t>(samples_.size()), "size " << size);
  block_.shape.assign(field_.shape.size() + 1, 0);
  block_.shape[0] = size;
  const std::span<int64_t> largest = std::span(block_.shape).subspan(1);
  for (int64_t i = 0; i < size; ++i)
    for (size_t d = 0; d < largest.size(); ++d) largest[d] = std::max(largest[d], sample(i).shape()[d]);

  block_.is_padded = false;
  for (int64_t i = 0; i < size; ++i)
    block_.is_padded = block_.is_padded || !std::ranges::equal(sample(i).shape(), largest);

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

}  // namespace tenon::data

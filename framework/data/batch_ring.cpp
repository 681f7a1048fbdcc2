#include "framework/data/batch_ring.h"

#include <new>
#include <string>

#include "framework/support/check.h"
#include "framework/support/error.h"

namespace tenon::data {
namespace {

size_t round_up(size_t bytes) {
  return (bytes + BatchRing::kAlignment - 1) / BatchRing::kAlignment * BatchRing::kAlignment;
}

[[noreturn]] void throw_too_large(double slot_bytes, int64_t batch_size, int64_t slots) {
  constexpr double kMebibyte = 1024.0 * 1024.0;
  throw support::Error(support::ErrorKind::configuration,
                       "data: " + std::to_string(slots) + " batches of " + std::to_string(batch_size) +
                           " samples take " +
                           std::to_string(static_cast<int64_t>(slot_bytes * static_cast<double>(slots) / kMebibyte)) +
                           " MiB, which cannot be allocated; expected data.batch_size, data.validation_batch_size and "
                           "data.prefetch to fit into memory; make one of them smaller");
}

}  // namespace

void BatchRing::Free::operator()(std::byte* memory) const { ::operator delete (memory, std::align_val_t{kAlignment}); }

BatchRing::BatchRing(const std::vector<Field>& fields, int64_t batch_size, int64_t slots) {
  TENON_CHECK(batch_size > 0 && slots > 0, "batch size " << batch_size << ", slots " << slots);
  double approximate_bytes = 0;  // as a double it cannot overflow
  for (const Field& field : fields) {
    approximate_bytes += static_cast<double>(field.sample_bytes) * static_cast<double>(batch_size) + kAlignment;
    sample_bytes_.push_back(field.sample_bytes);
  }
  if (approximate_bytes > 0x1p62) throw_too_large(approximate_bytes, batch_size, slots);

  std::vector<size_t> offsets;
  size_t slot_bytes = 0;
  for (const size_t bytes : sample_bytes_) {
    offsets.push_back(slot_bytes);
    slot_bytes += round_up(bytes * static_cast<size_t>(batch_size));
  }
  try {
    for (int64_t i = 0; i < slots; ++i) {
      memory_.emplace_back(static_cast<std::byte*>(::operator new (slot_bytes, std::align_val_t{kAlignment})));
      std::vector<std::byte*>& starts = starts_.emplace_back();
      for (const size_t offset : offsets) starts.push_back(memory_.back().get() + offset);
    }
  } catch (const std::bad_alloc&) {
    throw_too_large(approximate_bytes, batch_size, slots);
  }
}

void BatchRing::locate_sample(int64_t batch_number, int64_t place, std::vector<std::byte*>& out) const {
  const std::vector<std::byte*>& starts = batch(batch_number);
  for (size_t i = 0; i < starts.size(); ++i) out[i] = starts[i] + static_cast<size_t>(place) * sample_bytes_[i];
}

}  // namespace tenon::data

#include "framework/data/read_ahead.h"

#include <algorithm>
#include <utility>

#include "framework/support/diagnostics/check.h"

namespace tenon::data {

ReadAhead::ReadAhead(int64_t batch_size, int64_t capacity)
    : batch_size_(batch_size), progress_(static_cast<size_t>(capacity)) {
  TENON_CHECK(batch_size > 0 && capacity > 0, "batch size " << batch_size << ", capacity " << capacity);
}

void ReadAhead::start(int64_t sample_count, int64_t first_batch) {
  sample_count_ = sample_count;
  batch_count_ = batch_count(sample_count);
  TENON_CHECK(first_batch >= 0 && first_batch <= batch_count_, "first batch " << first_batch << " of " << batch_count_);
  front_ = first_batch;
  next_position_ = std::min(first_batch * batch_size_, sample_count);
  end_position_ = sample_count;
  const int64_t capacity = static_cast<int64_t>(progress_.size());
  for (int64_t batch = front_; batch < front_ + capacity; ++batch) expect(batch);
}

std::optional<SampleRange> ReadAhead::take(int64_t most) {
  if (next_position_ >= end_position_) return std::nullopt;
  const int64_t batch = next_position_ / batch_size_;
  if (batch >= front_ + static_cast<int64_t>(progress_.size())) return std::nullopt;
  const int64_t place = next_position_ - batch * batch_size_;
  const SampleRange range{batch, place, std::min(most, batch_end(batch) - next_position_), next_position_};
  next_position_ += range.count;
  return range;
}

void ReadAhead::skip(const SampleRange& range, SkippedSample sample) {
  std::vector<SkippedSample>& skipped = progress(range.batch).skipped;
  const auto place = std::ranges::upper_bound(skipped, sample.place, {}, &SkippedSample::place);
  skipped.insert(place, std::move(sample));
}

void ReadAhead::finish(const SampleRange& range) { progress(range.batch).unread -= range.count; }

void ReadAhead::fail(const SampleRange& range, int64_t place, std::exception_ptr error) {
  Progress& batch = progress(range.batch);
  if (!batch.error || place < batch.error_place) {
    batch.error_place = place;
    batch.error = std::move(error);
  }
  finish(range);
  // Tickets are given out in order, so all samples before this place are already taken. The samples of this batch that
  // are not taken come after it and are not needed.
  const int64_t end = batch_end(range.batch);
  if (next_position_ < end) {
    batch.unread -= end - next_position_;
    next_position_ = end;
  }
  end_position_ = std::min(end_position_, end);
}

void ReadAhead::release_front() {
  const int64_t freed = front_++;
  expect(freed + static_cast<int64_t>(progress_.size()));
}

int64_t ReadAhead::batch_end(int64_t batch) const {
  return batch + 1 < batch_count_ ? (batch + 1) * batch_size_ : sample_count_;
}

void ReadAhead::expect(int64_t batch) {
  const int64_t size = batch < batch_count_ ? size_of(batch) : 0;
  progress(batch) = Progress{size, 0, nullptr, {}};
}

}  // namespace tenon::data

// The bookkeeping of one pass over the data: the samples to read next and the complete batches. It has no threads and
// no sample memory. The loader calls it under its mutex.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "framework/data/sample_source.h"

namespace tenon::data {

// Consecutive samples of one batch, given to one reader.
struct SampleRange {
  int64_t batch;     // its number within the pass
  int64_t place;     // of the first sample within the batch
  int64_t count;     // at least 1
  int64_t position;  // of the first sample within the order
};

class ReadAhead {
 public:
  // `capacity`: batches in flight at once, including the one in use.
  ReadAhead(int64_t batch_size, int64_t capacity);

  // The number of batches in a pass over this number of samples. The last batch may be smaller than the others.
  int64_t batch_count(int64_t sample_count) const {
    return sample_count / batch_size_ + (sample_count % batch_size_ != 0);
  }

  // Resets the state and starts a pass. REQUIRES: 0 <= first_batch <= batch_count(sample_count), and no reader holds
  // tickets.
  void start(int64_t sample_count, int64_t first_batch);

  // Takes the next samples in order, at most `most`. Returns none while all batches are in flight, and after all
  // samples were taken.
  std::optional<SampleRange> take(int64_t most);

  // Whether these are the only unread samples of their batch and no sample of it failed. The reader then owns the whole
  // batch until it hands them in.
  bool complete_batch(const SampleRange& range) const {
    const Progress& batch = progress(range.batch);
    return batch.unread == range.count && !batch.error;
  }

  // Skips a sample of the tickets' batch. The reader must still hold the tickets.
  void skip(const SampleRange& range, SkippedSample sample);

  // The skipped samples of a batch so far, sorted by place.
  const std::vector<SkippedSample>& skipped(int64_t batch) const { return progress(batch).skipped; }

  // The reader is done with its tickets.
  void finish(const SampleRange& range);

  // The sample at `place` within the tickets' batch failed, and the samples after it were not read. If several samples
  // of a batch fail, the error of the first place is kept. All places before it are still read, so that the choice does
  // not depend on the timing of readers. No later batch will be read.
  void fail(const SampleRange& range, int64_t place, std::exception_ptr error);

  // The number of samples of a batch, including skipped ones.
  int64_t size_of(int64_t batch) const { return batch_end(batch) - batch * batch_size_; }
  // The number of samples of a batch, without skipped ones.
  int64_t kept_of(int64_t batch) const { return size_of(batch) - static_cast<int64_t>(skipped(batch).size()); }

  // The number of the batch that is delivered next.
  int64_t front() const { return front_; }
  bool is_over() const { return front_ >= batch_count_; }
  bool is_front_complete() const { return progress(front_).unread == 0; }
  const std::exception_ptr& front_error() const { return progress(front_).error; }

  // Releases the front batch, which is no longer in use. Another batch can use its slot in the ring.
  void release_front();

 private:
  struct Progress {
    int64_t unread;
    int64_t error_place;
    std::exception_ptr error;
    std::vector<SkippedSample> skipped;
  };

  int64_t batch_end(int64_t batch) const;  // position after its last sample
  Progress& progress(int64_t batch) { return progress_[static_cast<size_t>(batch) % progress_.size()]; }
  const Progress& progress(int64_t batch) const { return progress_[static_cast<size_t>(batch) % progress_.size()]; }
  void expect(int64_t batch);

  const int64_t batch_size_;
  std::vector<Progress> progress_;  // batch b is at b % capacity
  int64_t sample_count_ = 0;
  int64_t batch_count_ = 0;
  int64_t front_ = 0;
  int64_t next_position_ = 0;  // the first position that is not taken
  int64_t end_position_ = 0;   // no position from here on will be taken
};

}  // namespace tenon::data

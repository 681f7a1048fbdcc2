// Which samples are to be read next, and which batches are complete: the bookkeeping of one pass over the data, without
// threads and without memory. The loader calls it under its mutex.
#pragma once

#include <cstdint>
#include <exception>
#include <optional>
#include <vector>

#include "framework/data/batch.h"

namespace tenon::data {

// Consecutive samples of one batch, given to one reader.
struct Tickets {
  int64_t batch;     // its number within the pass
  int64_t place;     // of the first sample within the batch
  int64_t count;     // at least 1
  int64_t position;  // of the first sample within the order
};

class ReadAhead {
 public:
  // `capacity`: batches in flight at once, the one in use among them.
  ReadAhead(int64_t batch_size, int64_t capacity);

  // Batches of a pass over so many samples; the last may be smaller than the others.
  int64_t batch_count(int64_t sample_count) const {
    return sample_count / batch_size_ + (sample_count % batch_size_ != 0);
  }

  // Forgets everything and begins a pass. REQUIRES: 0 <= first_batch <= batch_count(sample_count), and nobody holds
  // tickets.
  void start(int64_t sample_count, int64_t first_batch);

  // The next samples in order, at most `most`; none while all batches are in flight, and when all samples are given
  // out.
  std::optional<Tickets> take(int64_t most);

  // Whether these are all that is unread of their batch, and nothing of it failed: who holds them then has the whole
  // batch for itself until it hands them in.
  bool complete_batch(const Tickets& tickets) const {
    const Progress& batch = progress(tickets.batch);
    return batch.unread == tickets.count && !batch.error;
  }

  // A sample of the tickets' batch, which the reader still holds, is left out of it.
  void skip(const Tickets& tickets, SkippedSample sample);

  // What was left out of a batch so far, by place.
  const std::vector<SkippedSample>& skipped(int64_t batch) const { return progress(batch).skipped; }

  // The reader is done with its tickets.
  void finish(const Tickets& tickets);

  // The sample at `place` within the tickets' batch failed and those after it were not read. Of several failures of a
  // batch the first place wins, and all places before it are still read, so that the choice does not depend on who was
  // quicker. No batch after this one will be read.
  void fail(const Tickets& tickets, int64_t place, std::exception_ptr error);

  // Samples of a batch, whether they can be read or not.
  int64_t size_of(int64_t batch) const { return batch_end(batch) - batch * batch_size_; }
  // Samples that are left of it.
  int64_t kept_of(int64_t batch) const { return size_of(batch) - static_cast<int64_t>(skipped(batch).size()); }

  // The batch that is delivered next.
  int64_t front() const { return front_; }
  bool is_over() const { return front_ >= batch_count_; }
  bool is_front_complete() const { return progress(front_).unread == 0; }
  const std::exception_ptr& front_error() const { return progress(front_).error; }

  // The front batch is no longer in use: its place in the ring is free for another.
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
  std::vector<Progress> progress_;  // of batch b at b % capacity
  int64_t sample_count_ = 0;
  int64_t batch_count_ = 0;
  int64_t front_ = 0;
  int64_t next_position_ = 0;  // the first that is not given out
  int64_t end_position_ = 0;   // none from here on is given out
};

}  // namespace tenon::data

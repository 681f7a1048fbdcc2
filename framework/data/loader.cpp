#include "framework/data/loader.h"

#include <limits>
#include <optional>
#include <utility>

#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/timeline.h"

namespace tenon::data {
namespace {

using Clock = std::chrono::steady_clock;
using support::StreamPurpose;

double to_seconds(Clock::duration duration) { return std::chrono::duration<double>(duration).count(); }
double seconds_since(Clock::time_point begin) { return to_seconds(Clock::now() - begin); }

}  // namespace

Loader::Loader(SampleSource& source, const LoaderOptions& options)
    : source_(source),
      options_(options),
      field_count_(source.fields().size()),
      // Without threads nothing is read ahead.
      ring_(source.fields(), options.batch_size, options.workers > 0 ? options.prefetch + 1 : 1),
      inline_reader_(make_reader(0)),
      ahead_(options.batch_size, ring_.slots()) {
  TENON_CHECK(options.workers >= 0 && options.prefetch >= 1,
              "workers " << options.workers << ", prefetch " << options.prefetch);
}

// ---- Worker threads -------------------------------------------------------------------------------------------------

void Loader::work(uint64_t id) {
  Reader reader = make_reader(id);
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    const bool must_open = !reader.worker && reader.tried_in_pass != pass_;
    const auto range = reader.worker && !abandoned_ ? ahead_.take(reader.at_once.count()) : std::nullopt;
    if (must_open) {
      open_in_pass(reader, lock);
    } else if (range) {
      read_taken(reader, *range, lock);
    } else {
      // The mutex has been held since stopping_ was checked. Otherwise a wake-up could be missed.
      ++idle_;
      const auto begin = Clock::now();
      work_available_.wait(lock);
      times_.idle_s += seconds_since(begin);
      --idle_;
    }
  }
}

void Loader::open_in_pass(Reader& reader, std::unique_lock<std::mutex>& lock) {
  reader.tried_in_pass = pass_;
  ++busy_;
  lock.unlock();
  std::exception_ptr error = open(reader);
  lock.lock();
  --busy_;
  --unopened_;
  if (!error) ++opened_;
  if (error && (!open_error_ || reader.id < error_worker_)) {
    error_worker_ = reader.id;
    open_error_ = std::move(error);
  }
  progress_made_.notify_one();
}

void Loader::read_taken(Reader& reader, const SampleRange& range, std::unique_lock<std::mutex>& lock) {
  // The consumer wakes one worker. Each worker wakes the next while there is work, so only as many run as are needed.
  if (idle_ > 0) work_available_.notify_one();
  ++busy_;
  lock.unlock();
  const auto begin = Clock::now();
  Outcome outcome = read(reader, range);
  const auto spent = Clock::now() - begin;
  reader.at_once.fit(range.count, spent);
  lock.lock();
  times_.reading_s += to_seconds(spent);
  hand_in(range, std::move(outcome), lock);  // has no effect in an abandoned pass: start() resets the bookkeeping
  --busy_;
  if (abandoned_ || (range.batch == ahead_.front() && ahead_.is_front_complete())) progress_made_.notify_one();
}

std::exception_ptr Loader::open(Reader& reader) {
  try {
    const uint64_t seed = support::derive_seed(options_.seed, StreamPurpose::worker, options_.rank, reader.id);
    reader.worker = source_.open_worker(reader.id, seed);
    TENON_CHECK(reader.worker, "worker " << reader.id);
    return nullptr;
  } catch (...) {
    return std::current_exception();
  }
}

Loader::Outcome Loader::read(Reader& reader, const SampleRange& range) {
  const support::TimelineScope scope("read samples");
  Outcome outcome;
  for (int64_t i = 0; i < range.count && !abandoned_.load(std::memory_order_relaxed); ++i) {
    const int64_t place = range.place + i;
    const auto position = static_cast<size_t>(range.position + i);
    const int64_t index = order_[position];
    const uint64_t seed = derive_sample_seed(position);
    ring_.locate_sample(range.batch, place, reader.slots);
    try {
      reader.worker->get({index, static_cast<int64_t>(epoch_), seed}, reader.slots);
    } catch (...) {
      std::string reason;
      if (!may_skip(reason)) {
        outcome.place = place;
        outcome.error = std::current_exception();
        return outcome;
      }
      outcome.skipped.push_back({place, index, std::move(reason)});
    }
  }
  return outcome;
}

// The first occurrence of a sample has the seed that it has in an epoch without repetitions.
uint64_t Loader::derive_sample_seed(size_t position) const {
  const auto repetition = repetitions_.empty() ? uint64_t{0} : static_cast<uint64_t>(repetitions_[position]);
  const uint64_t seed =
      repetition == 0 ? options_.seed : support::derive_seed(options_.seed, StreamPurpose::repetition, 0, repetition);
  return support::derive_seed(seed, StreamPurpose::sample, epoch_, static_cast<uint64_t>(order_[position]));
}

// Examines the exception that is currently handled.
bool Loader::may_skip(std::string& reason) const {
  try {
    throw;
  } catch (const support::Error& error) {
    reason = error.what();
    return options_.skip_bad_samples && error.kind() == support::ErrorKind::data;
  } catch (...) {
    return false;
  }
}

Loader::Outcome Loader::complete(const SampleRange& range, int64_t size, const std::vector<SkippedSample>& skipped) {
  const support::TimelineScope scope("complete batch");
  try {
    if (!skipped.empty()) {
      std::vector<int64_t> places;
      for (const SkippedSample& sample : skipped) places.push_back(sample.place);
      ring_.close_gaps(range.batch, size, places);
      size -= static_cast<int64_t>(places.size());
    }
    if (size > 0) ring_.pad(range.batch, size);
    return {};
  } catch (...) {
    return {range.place, std::current_exception(), {}};
  }
}

void Loader::hand_in(const SampleRange& range, Outcome outcome, std::unique_lock<std::mutex>& lock) {
  for (SkippedSample& sample : outcome.skipped) ahead_.skip(range, std::move(sample));
  // The samples that other workers wrote to this batch are visible here, because they handed in their tickets under the
  // mutex. In an abandoned pass, some samples were not read.
  if (!outcome.error && !abandoned_ && ahead_.complete_batch(range)) {
    const std::vector<SkippedSample>& skipped = ahead_.skipped(range.batch);  // no thread adds to it any more
    if (ring_.has_varying_fields() || !skipped.empty()) {
      const int64_t size = ahead_.size_of(range.batch);
      lock.unlock();
      const auto begin = Clock::now();
      outcome = complete(range, size, skipped);
      const double spent_s = seconds_since(begin);
      lock.lock();
      times_.completing_s += spent_s;
    }
  }
  if (outcome.error) {
    ahead_.fail(range, outcome.place, std::move(outcome.error));
  } else {
    ahead_.finish(range);
  }
}

// ---- The consumer ---------------------------------------------------------------------------------------------------

void Loader::start(std::vector<int64_t> order, int64_t epoch, int64_t first_batch, std::vector<int64_t> repetitions) {
  TENON_CHECK(epoch >= 0 && epoch <= std::numeric_limits<uint32_t>::max(), "epoch " << epoch);
  const int64_t size = source_.size();
  for (const int64_t index : order) TENON_CHECK(index >= 0 && index < size, "index " << index << ", size " << size);
  TENON_CHECK(repetitions.empty() || repetitions.size() == order.size(),
              "repetitions " << repetitions.size() << ", order " << order.size());
  const int64_t batch_count = ahead_.batch_count(static_cast<int64_t>(order.size()));
  TENON_CHECK(first_batch >= 0 && first_batch <= batch_count, "first batch " << first_batch << " of " << batch_count);
  {
    std::unique_lock lock(mutex_);
    abandoned_ = true;
    progress_made_.wait(lock, [this] { return busy_ == 0; });
    order_ = std::move(order);
    repetitions_ = std::move(repetitions);
    epoch_ = static_cast<uint32_t>(epoch);
    ahead_.start(static_cast<int64_t>(order_.size()), first_batch);
    in_use_ = false;
    unopened_ = options_.workers - opened_;
    open_error_ = nullptr;
    error_ = nullptr;
    ++pass_;
    abandoned_ = false;
  }
  if (has_threads() && !threads_.are_running()) start_workers();
  work_available_.notify_all();
}

void Loader::start_workers() {
  try {
    threads_.start(options_.workers, [this](uint64_t id) { work(id); });
  } catch (...) {
    stop_workers();  // the threads that did start
    throw;
  }
}

void Loader::stop_workers() {
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    abandoned_ = true;
  }
  work_available_.notify_all();
  threads_.join();
  stopping_ = false;
  opened_ = 0;
  pass_ = 0;
}

const Batch* Loader::next() {
  std::unique_lock lock(mutex_);
  TENON_CHECK(pass_ > 0, "next() before start()");
  if (in_use_) {
    ahead_.release_front();
    in_use_ = false;
    work_available_.notify_one();
  }
  if (error_) std::rethrow_exception(error_);
  if (ahead_.is_over()) return nullptr;

  const auto begin = Clock::now();
  has_threads() ? wait_for_front(lock) : read_front(lock);
  times_.waiting_s += seconds_since(begin);

  error_ = open_error_ ? open_error_ : ahead_.front_error();
  if (error_) std::rethrow_exception(error_);
  in_use_ = true;
  ring_.describe_batch(ahead_.front(), ahead_.kept_of(ahead_.front()), batch_);
  batch_.skipped = ahead_.skipped(ahead_.front());
  return &batch_;
}

LoaderTimes Loader::times() const {
  const std::lock_guard lock(mutex_);
  return times_;
}

void Loader::wait_for_front(std::unique_lock<std::mutex>& lock) {
  // All workers are opened before the first batch, so that a worker that fails to open is always reported at once.
  progress_made_.wait(lock, [this] { return unopened_ == 0 && (open_error_ || ahead_.is_front_complete()); });
}

void Loader::read_front(std::unique_lock<std::mutex>& lock) {
  if (!inline_reader_.worker) open_error_ = open(inline_reader_);
  if (open_error_) return;
  while (const auto range = ahead_.take(options_.batch_size)) {
    const auto begin = Clock::now();
    Outcome outcome = read(inline_reader_, *range);
    times_.reading_s += seconds_since(begin);
    hand_in(*range, std::move(outcome), lock);
  }
}

LoaderTimes operator-(const LoaderTimes& left, const LoaderTimes& right) {
  return {left.reading_s - right.reading_s, left.completing_s - right.completing_s, left.idle_s - right.idle_s,
          left.waiting_s - right.waiting_s};
}

}  // namespace tenon::data

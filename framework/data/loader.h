// The data loader. Worker threads write samples directly into the slots of a ring of batches. The training thread takes
// the batches in order. There is no collate copy and no LibTorch, and the batches are the same for any number of
// workers. Only varying-size fields are copied once, into a padded block, by the worker that completes the batch. This
// worker also closes the gaps of skipped samples.
#pragma once

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <exception>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "framework/data/batch_ring.h"
#include "framework/data/read_ahead.h"
#include "framework/data/sample_source.h"
#include "framework/data/worker_threads.h"

namespace tenon::data {

struct LoaderOptions {
  int64_t batch_size;  // at least 1
  int64_t workers;     // 0: next() reads the samples itself
  int64_t prefetch;    // batches read ahead of the one in use, at least 1
  uint64_t seed;       // seed of the dataset: see derive_dataset_seed()
  uint32_t rank = 0;
  // Whether to skip a sample that fails with Error(data), which makes its batch smaller. Any other error still ends the
  // pass. A batch without any samples left is also returned, with size 0.
  bool skip_bad_samples = false;
};

// A loader's times in seconds since its construction. Times of worker threads are the sum over all threads.
struct LoaderTimes {
  double reading_s = 0;     // reading samples in the dataset
  double completing_s = 0;  // padding batches and closing their gaps
  double idle_s = 0;        // worker threads without work: all batches were read ahead, or no pass was started
  double waiting_s = 0;     // the consumer in next(), waiting for a batch
};
LoaderTimes operator-(const LoaderTimes& left, const LoaderTimes& right);

class Loader {
 public:
  // The source must outlive the loader. The first start() starts the threads, which run until destruction.
  Loader(SampleSource& source, const LoaderOptions& options);
  ~Loader() { stop_workers(); }  // stops at once, even in the middle of an epoch
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Starts a pass over the samples of `order`, which the loader keeps. Abandons a pass in progress. `epoch` is 0 if
  // there is none. Skips `first_batch` batches without reading them: a run that is resumed in the middle of an epoch
  // continues there. `repetitions`: for each place of the order a number that separates the random numbers of samples
  // that occur several times in the epoch; empty: 0 for all.
  void start(std::vector<int64_t> order, int64_t epoch, int64_t first_batch = 0, std::vector<int64_t> repetitions = {});

  // Returns the next batch in order, or null at the end of the pass. Throws the worker's error when it reaches the
  // batch of the failed sample. If several samples of the batch failed, it throws the error of the first one, so that
  // the error is the same for any number of workers. An error of open_worker is thrown with the first batch. An error
  // ends the pass; start() starts another one.
  const Batch* next();

  // The times so far, without samples and waits in progress.
  LoaderTimes times() const;

 private:
  // The result of reading some tickets.
  struct Outcome {
    int64_t place = 0;                   // place of the failed sample
    std::exception_ptr error = nullptr;  // null: no error
    std::vector<SkippedSample> skipped = {};
  };

  // The number of samples that a worker takes at once: as many as it reads in about 20 microseconds. Cheap samples
  // share the cost of the mutex. Expensive samples are taken one by one, so that no worker holds samples that others
  // could read.
  class RangeSize {
   public:
    int64_t count() const { return count_; }
    void fit(int64_t taken, std::chrono::steady_clock::duration spent) {
      if (taken == count_ && spent < std::chrono::microseconds(10)) count_ = std::min<int64_t>(count_ * 2, 64);
      if (spent > std::chrono::microseconds(20)) count_ = std::max<int64_t>(count_ / 2, 1);
    }

   private:
    int64_t count_ = 1;
  };

  // The state of a thread between tickets.
  struct Reader {
    uint64_t id;
    std::unique_ptr<SampleSource::Worker> worker;  // null until it is opened
    std::vector<SampleSlot> slots;
    RangeSize at_once;
    int64_t tried_in_pass = 0;  // the pass in which opening was last tried
  };

  bool has_threads() const { return options_.workers > 0; }
  Reader make_reader(uint64_t id) const { return Reader{id, nullptr, std::vector<SampleSlot>(field_count_), {}, 0}; }

  // Called on a worker thread.
  void work(uint64_t id);
  void open_in_pass(Reader& reader, std::unique_lock<std::mutex>& lock);
  void read_taken(Reader& reader, const SampleRange& range, std::unique_lock<std::mutex>& lock);

  // Called on any thread, without the mutex.
  std::exception_ptr open(Reader& reader);
  Outcome read(Reader& reader, const SampleRange& range);
  uint64_t derive_sample_seed(size_t position) const;
  bool may_skip(std::string& reason) const;
  Outcome complete(const SampleRange& range, int64_t size, const std::vector<SkippedSample>& skipped);

  // Called on any thread, with the mutex.
  void hand_in(const SampleRange& range, Outcome outcome, std::unique_lock<std::mutex>& lock);

  // Called on the consumer's thread.
  void start_workers();
  void stop_workers();
  void wait_for_front(std::unique_lock<std::mutex>& lock);
  void read_front(std::unique_lock<std::mutex>& lock);

  SampleSource& source_;
  const LoaderOptions options_;
  const size_t field_count_;
  BatchRing ring_;        // the ticket's holder owns a sample's slots, the consumer owns a complete batch
  Reader inline_reader_;  // used without worker threads
  Batch batch_{0, {}};    // returned by next()

  // A worker checks between samples whether the pass was abandoned.
  std::atomic<bool> abandoned_{false};

  // Written by start() while no worker is busy, read by busy workers.
  std::vector<int64_t> order_;
  std::vector<int64_t> repetitions_;  // as long as the order, or empty
  uint32_t epoch_ = 0;

  mutable std::mutex mutex_;  // guards all members below
  std::condition_variable work_available_;
  std::condition_variable progress_made_;  // the only consumer waits for it
  ReadAhead ahead_;
  int64_t pass_ = 0;       // 0: no pass was started yet
  bool stopping_ = false;  // the threads must end
  bool in_use_ = false;    // the consumer holds the front batch
  int64_t busy_ = 0;       // workers that hold tickets or are being opened
  int64_t idle_ = 0;       // workers that wait for work
  int64_t opened_ = 0;     // workers that are open
  int64_t unopened_ = 0;   // workers that this pass has not tried to open yet
  uint64_t error_worker_ = 0;
  std::exception_ptr open_error_;  // of this pass, from the worker with the smallest id
  std::exception_ptr error_;       // the error that next() threw in this pass
  LoaderTimes times_;

  WorkerThreads threads_;
};

}  // namespace tenon::data

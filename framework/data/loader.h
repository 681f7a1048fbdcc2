// The data loader. Worker threads write samples directly into the slots of a ring of batches. The training thread takes
// the batches in order. There is no collate copy and no LibTorch, and the batches are the same for any number of
// workers. Only varying-size fields are copied once, into a padded block, by the worker that completes the batch. This
// worker also closes the gaps of skipped samples.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "framework/data/batch.h"
#include "framework/data/sample_source.h"

namespace tenon::data {

struct LoaderOptions {
  int64_t batch_size;  // at least 1
  int64_t workers;     // 0: next() reads the samples itself
  int64_t prefetch;    // batches read ahead of the one in use, at least 1
  uint64_t seed;       // seed of the dataset: see dataset_seed.h
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
  ~Loader();  // stops at once, even in the middle of an epoch
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
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tenon::data

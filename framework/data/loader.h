// The data loader: worker threads write samples straight into the slots of a ring of batches; the training thread takes
// the batches in order. No collate copy, no LibTorch, and the same batches for any number of workers. Only fields whose
// size varies are copied once, into a padded block, by the worker that completes the batch; it also closes the gaps of
// samples that were left out.
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
  uint64_t seed;       // of the dataset: see dataset_seed.h
  uint32_t rank = 0;
  // Whether a sample that fails with Error(data) is left out of its batch, which then is smaller. Any other error still
  // ends the pass. A batch of which nothing is left is given out too, with size 0.
  bool skip_bad_samples = false;
};

// Where a loader's time went, in seconds since it was made. Those of the worker threads are of all of them together.
struct LoaderTimes {
  double reading_s = 0;     // in the dataset, for samples
  double completing_s = 0;  // padding batches, and closing their gaps
  double idle_s = 0;        // worker threads that waited for work: all batches were read ahead, or none was asked for
  double waiting_s = 0;     // the consumer in next(), for a batch that was not ready
};
LoaderTimes operator-(const LoaderTimes& left, const LoaderTimes& right);

class Loader {
 public:
  // The source must outlive the loader. Starts no thread yet: the first start() does, and they stay until destruction.
  Loader(SampleSource& source, const LoaderOptions& options);
  ~Loader();  // stops at once, also in the middle of an epoch
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  // Begins a pass over the samples of `order` (the loader keeps it), abandoning one that is under way. `epoch` is 0
  // where there is none. `first_batch` skips that many batches without reading them: where a run that is resumed in the
  // middle of an epoch goes on.
  void start(std::vector<int64_t> order, int64_t epoch, int64_t first_batch = 0);

  // The next batch in order, or null at the end of the pass. Throws the worker's own error when it reaches the batch
  // whose sample failed (of several in one batch the first), so that the same error comes for any number of workers;
  // an error of open_worker comes with the first batch. The pass then is over: start() begins another.
  const Batch* next();

  // Up to now; of samples and waits that are not over yet nothing.
  LoaderTimes times() const;

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tenon::data

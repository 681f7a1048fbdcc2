// The data loader: worker threads write samples straight into the slots of a ring of batches; the training thread takes
// the batches in order. No collate copy, no LibTorch, and the same batches for any number of workers. Only fields whose
// size varies are copied once, into a padded block, by the worker that completes the batch.
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
};

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

 private:
  class Implementation;
  std::unique_ptr<Implementation> implementation_;
};

}  // namespace tenon::data

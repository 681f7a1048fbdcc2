// A dataset of a run, ready to be read: the plugin's object, the order of its samples, and the loader.
#pragma once

#include <cstdint>

#include "framework/config/run_plan.h"
#include "framework/data/loader.h"
#include "framework/data/plugin_samples.h"
#include "framework/data/sampler.h"
#include "framework/data/skipped_samples.h"
#include "framework/plugins/catalogue.h"
#include "framework/plugins/dataset.h"

namespace tenon::data {

// Which part of each epoch a process reads, see Sampler.
struct Share {
  int64_t rank = 0;
  int64_t world = 1;
};

// Not movable: parts point to each other.
class Feed {
 public:
  // `dataset` is one of the plan's. Throws Error(configuration) for a subset without samples, and for a sampler that
  // goes by what the dataset does not know; and as plugins::Dataset and Loader do.
  Feed(const plugins::Catalogue& catalogue, const config::RunPlan& plan, const config::NamedDataset& dataset,
       const Share& share = {});

  const plugins::Dataset& dataset() const { return dataset_; }
  const Sampler& sampler() const { return sampler_; }
  Loader& loader() { return loader_; }  // for a pass in another order
  int64_t batch_size() const { return options_.batch_size; }
  int64_t batches() const;  // of a pass; of a process whose share is smaller the last may be missing
  bool may_skip() const { return options_.skip_bad_samples; }

  // Begins a pass over the samples of `epoch`; 0 for one that is always the same. A run that is resumed goes on after
  // so many batches, which lacked so many samples.
  void start(int64_t epoch, int64_t batches = 0, int64_t skipped = 0);

  // The next batch, see Loader; of samples that were left out the log says why. Throws Error(data) where that is every
  // sample of the pass, and no other process reads any.
  const Batch* next();

  // A batch of one sample that is another process's, for one without a share of the last batch. The pass is over.
  const Batch* borrow();

  // Random bits for the batch that next() gave last: of the seed, the dataset, the epoch and the batch's number among
  // those of all processes.
  uint64_t batch_seed() const;

  // Samples that the pass has lacked so far.
  int64_t skipped() const { return skipped_.in_pass(); }

 private:
  [[noreturn]] void refuse_empty_pass() const;

  plugins::Dataset dataset_;
  PluginSamples samples_;
  Share share_;
  Sampler sampler_;
  LoaderOptions options_;
  Loader loader_;
  SkippedSamples skipped_;
  int64_t epoch_ = 0;    // of the pass
  int64_t batches_ = 0;  // that it has given
};

}  // namespace tenon::data

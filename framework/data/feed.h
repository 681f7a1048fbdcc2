// A dataset of a run that is ready to read: the plugin's dataset, the sampler and the loader.
#pragma once

#include <cstddef>
#include <cstdint>
#include <set>
#include <vector>

#include "framework/components/kinds/dataset.h"
#include "framework/components/loading/catalogue.h"
#include "framework/config/plan/run_plan.h"
#include "framework/data/class_numbers.h"
#include "framework/data/loader.h"
#include "framework/data/plugin_samples.h"
#include "framework/data/sample_source.h"
#include "framework/data/sampler.h"

namespace tenon::data {

// The part of each epoch that a process reads; see Sampler.
struct Share {
  int64_t rank = 0;
  int64_t world = 1;
};

// The name of the dataset that reads the files of `host predict --input`, which are not in the run file.
inline constexpr const char* kInputName = "input";

// The samples of a batch that starts at place `first` of the order, without skipped ones: their indices in the dataset.
std::vector<int64_t> list_samples(const Batch& batch, const std::vector<int64_t>& order, size_t first);

// The samples of a dataset that could not be read. With [data] on_error = "skip", a run continues without them.
class SkippedSamples {
 public:
  static constexpr size_t kMaxWarnings = 20;

  void start_pass(int64_t already) { in_pass_ = already; }

  // Counts the skipped samples of the batch. Logs a warning for each new one, up to kMaxWarnings in a run.
  void add(const Batch& batch);

  int64_t in_pass() const { return in_pass_; }

 private:
  int64_t in_pass_ = 0;
  std::set<int64_t> known_;  // their indices
};

// Not movable, because its members point to each other.
class Feed {
 public:
  // `dataset` is one of the plan's datasets. It is read as training data if it has the name of plan.data.train. Throws
  // Error(configuration) for a subset without samples, and for a sampler that needs data that the dataset does not
  // provide. Also throws as components::Dataset, ClassNumbers and Loader do. `numbering`: of the classes; null: the
  // plan's.
  Feed(const components::Catalogue& catalogue, const config::RunPlan& plan, const config::NamedDataset& dataset,
       const Share& share = {}, const Numbering* numbering = nullptr);
  // With the plugin's dataset, which was created with the same plan.
  Feed(components::Dataset opened, const config::RunPlan& plan, const config::NamedDataset& dataset, const Share& share,
       const Numbering* numbering);

  const components::Dataset& dataset() const { return dataset_; }
  const Sampler& sampler() const { return sampler_; }
  // The names of classes, in the order of the numbers that the samples hold.
  const config::ClassNames& class_names() const { return samples_.class_names(); }
  Loader& loader() { return loader_; }  // for a pass in another order
  int64_t batch_size() const { return options_.batch_size; }
  // The batches of the pass, or of an epoch before the first pass. A process with a smaller share may lack the last.
  int64_t batches() const { return batches(rest_); }
  int64_t batches(const EpochRest& rest) const;
  bool may_skip() const { return options_.skip_bad_samples; }

  // Starts a pass over the samples of `epoch`; 0 for a pass that is always the same. A resumed run passes the number of
  // `batches` that are done, and the number of samples that this process `skipped` in the epoch. `rest`: if the epoch
  // began with other batches. The `batches` are then those of the rest.
  void start(int64_t epoch, int64_t batches = 0, int64_t skipped = 0, const EpochRest& rest = {});

  // Starts a pass over these samples, which is always the same. list_samples() does not know them.
  void start_with(std::vector<int64_t> samples);

  // Returns the next batch, see Loader. Logs why samples were skipped. Throws Error(data) if every sample of the pass
  // was skipped and no other process reads any.
  const Batch* next();

  // Returns a batch with one sample of another process. A process without a share of the last batch calls it after its
  // pass.
  const Batch* borrow();

  // Random bits for the batch that next() returned last. They depend on the seed, the dataset, the epoch and the
  // batch's number among the batches of all processes in the epoch.
  uint64_t batch_seed() const;

  // The samples of the batch that next() returned last: their indices in the dataset. Empty for a batch of borrow().
  // Computes the order of the pass again, so use it only for messages.
  std::vector<int64_t> list_samples(const Batch& batch) const;

  // The number of samples that the pass has skipped so far.
  int64_t skipped() const { return skipped_.in_pass(); }

 private:
  const Batch* load();

  components::Dataset dataset_;
  PluginSamples samples_;
  Share share_;
  Sampler sampler_;
  LoaderOptions options_;
  Loader loader_;
  SkippedSamples skipped_;
  int64_t epoch_ = 0;    // the epoch of the pass
  EpochRest rest_;       // the part of the epoch that the pass has
  int64_t batches_ = 0;  // the number of batches that the pass has returned
};

}  // namespace tenon::data

// In which order the samples of a dataset are seen. A function of its arguments alone: nothing to save or restore but
// the epoch and how many batches of it are done.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/config/run_plan.h"

namespace tenon::data {

// 0, 1, ..., size - 1.
std::vector<int64_t> sequential_order(int64_t size);

// A permutation that depends on (seed, epoch) alone: Fisher-Yates (Durstenfeld, CACM 7(7), 1964) with Philox numbers
// and unbiased bounds (Lemire, "Fast random integer generation in an interval", TOMACS 2019).
std::vector<int64_t> shuffled_order(int64_t size, uint64_t seed, int64_t epoch);

// The indices of the subset's samples, ascending. Which they are depends on (size, seed) alone. Subsets that adjoin
// ("80%", "80%-100%") share no sample, and together have all that lie between their ends.
std::vector<int64_t> subset_samples(int64_t size, const config::Subset& subset, uint64_t seed);

// What a sampler other than the uniform one goes by: a number for each sample of the dataset.
struct SampleTraits {
  std::vector<int64_t> lengths;  // length_bucketed
  std::vector<double> weights;   // weighted: finite, at least 0
};

struct SamplerOptions {
  config::SamplerKind kind = config::SamplerKind::uniform;
  bool shuffle = false;    // anew each epoch
  uint64_t seed = 0;       // of the shuffle
  int64_t batch_size = 1;  // of this process; length_bucketed makes batches of like lengths
  config::Subset subset = {};
  uint64_t subset_seed = 0;
  int64_t most = 0;   // samples of an epoch at most, over all ranks; 0: all
  int64_t rank = 0;   // of this process
  int64_t world = 1;  // processes that share the epoch
};

// The order of any epoch. All ranks draw the same one, and rank r of w takes its places r, r + w, r + 2w, ...: each
// sample is seen by exactly one of them, without padding and without a remainder that is dropped, and the ranks' k-th
// batches of b samples together are the k-th batch of w * b samples of one process alone. So the shares of the last
// batch may differ by one sample, or be none at all.
//
// weighted draws as many samples as there are, each of all with a probability in proportion to its weight, so that some
// come several times and others not at all (torch.utils.data.WeightedRandomSampler with replacement).
//
// length_bucketed sorts each kSortedBatches batches' worth of the shuffled order by length, cuts it into batches, and
// shuffles those, the smaller last one apart (the pool of torchtext's BucketIterator). Without shuffle the whole epoch
// is sorted.
class Sampler {
 public:
  static constexpr int64_t kSortedBatches = 100;

  // REQUIRES: the traits that the kind goes by, for each sample of the dataset.
  Sampler(int64_t dataset_size, const SamplerOptions& options, SampleTraits traits = {});

  int64_t size() const { return size_; }            // samples of an epoch, over all ranks
  std::vector<int64_t> order(int64_t epoch) const;  // this rank's samples
  int64_t first(int64_t epoch) const;               // of all ranks' samples. REQUIRES: size() > 0

 private:
  std::vector<int64_t> common_order(int64_t epoch) const;
  std::vector<int64_t> draw_places(int64_t epoch) const;
  void bucket(std::vector<int64_t>& order, int64_t epoch) const;

  SamplerOptions options_;
  std::vector<int64_t> lengths_;       // of the dataset's samples
  std::vector<double> weights_up_to_;  // and including each available sample
  std::vector<int64_t> samples_;       // of the subset; empty where it is the whole dataset
  int64_t available_;                  // samples to draw from
  int64_t size_;
};

}  // namespace tenon::data

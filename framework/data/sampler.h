// In which order the samples of a dataset are seen. A function of its arguments alone: nothing to save or restore but
// the epoch and how many batches of it are done.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/config/subset.h"

namespace tenon::data {

// 0, 1, ..., size - 1.
std::vector<int64_t> sequential_order(int64_t size);

// A permutation that depends on (seed, epoch) alone: Fisher-Yates (Durstenfeld, CACM 7(7), 1964) with Philox numbers
// and unbiased bounds (Lemire, "Fast random integer generation in an interval", TOMACS 2019).
std::vector<int64_t> shuffled_order(int64_t size, uint64_t seed, int64_t epoch);

// The indices of the subset's samples, ascending. Which they are depends on (size, seed) alone. Subsets that adjoin
// ("80%", "80%-100%") share no sample, and together have all that lie between their ends.
std::vector<int64_t> subset_samples(int64_t size, const config::Subset& subset, uint64_t seed);

struct SamplerOptions {
  bool shuffle = false;  // anew each epoch
  uint64_t seed = 0;     // of the shuffle
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
class Sampler {
 public:
  Sampler(int64_t dataset_size, const SamplerOptions& options);

  int64_t size() const { return size_; }            // samples of an epoch, over all ranks
  std::vector<int64_t> order(int64_t epoch) const;  // this rank's samples

 private:
  std::vector<int64_t> common_order(int64_t epoch) const;

  SamplerOptions options_;
  std::vector<int64_t> samples_;  // of the subset; empty where it is the whole dataset
  int64_t available_;             // samples to draw from
  int64_t size_;
};

}  // namespace tenon::data

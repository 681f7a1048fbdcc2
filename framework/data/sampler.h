// The order of a dataset's samples. It depends only on the arguments. A checkpoint needs only the epoch and the number
// of batches that are done.
#pragma once

#include <cstdint>
#include <vector>

#include "framework/config/plan/run_plan.h"

namespace tenon::data {

// 0, 1, ..., size - 1.
std::vector<int64_t> sequential_order(int64_t size);

// A permutation that depends only on (seed, epoch): Fisher-Yates (Durstenfeld, CACM 7(7), 1964) with Philox numbers
// and unbiased bounds (Lemire, "Fast random integer generation in an interval", TOMACS 2019).
std::vector<int64_t> shuffled_order(int64_t size, uint64_t seed, int64_t epoch);

// `count` of `size` places in ascending order: one in each of `count` parts of equal length, at a position that differs
// between parts. So they cover data in the order of their classes as well as classes that alternate. They depend only
// on the arguments. REQUIRES: count <= size.
std::vector<int64_t> spread_places(int64_t size, int64_t count);

// The indices of the subset's samples, in ascending order. They depend only on (size, seed) and the subset. Adjacent
// subsets ("80%", "80%-100%") share no sample and together have all samples between their ends.
std::vector<int64_t> subset_samples(int64_t size, const config::Subset& subset, uint64_t seed);

// The data of samplers other than the uniform one: a number for each sample of the dataset.
struct SampleTraits {
  std::vector<int64_t> lengths;  // length_bucketed
  std::vector<double> weights;   // weighted: finite, at least 0
};

struct SamplerOptions {
  config::SamplerKind kind = config::SamplerKind::uniform;
  bool shuffle = false;    // differently in each epoch
  uint64_t seed = 0;       // of the shuffle
  int64_t batch_size = 1;  // of this process; length_bucketed makes batches of similar lengths
  int64_t repeats = 1;     // places in succession that each sample of an epoch gets
  config::Subset subset = {};
  uint64_t subset_seed = 0;
  std::vector<int64_t> chosen = {};  // the samples to choose from, ascending, instead of the subset; empty: the subset
  // Whether a limited epoch has spread_places() instead of the first samples. Only for uniform, without shuffle.
  bool spreads_limit = false;
  // Samples of an epoch at most, over all ranks; 0: all. For an EpochRest a multiple of batch_size * world.
  int64_t most = 0;
  // Whether the epoch has only batches of batch_size samples on each rank, as with DataLoader(drop_last=True).
  bool drop_last = false;
  int64_t rank = 0;   // of this process
  int64_t world = 1;  // processes that share the epoch
};

// The rest of an epoch that began with other batches: with another number of ranks, or another batch size.
struct EpochRest {
  int64_t places = 0;        // of the common order, which were read before
  int64_t batches = 0;       // of one rank, in which they were read
  int64_t total_batch = 0;   // batch_size * world when the epoch began, which its order depends on; 0: the sampler's
  int64_t batch_number = 0;  // of the first batch of the rest, among the batches of all ranks; 0: the sampler's world
};

// What is left of `part`, a whole epoch or a rest, after each of `world` ranks has read `batches` batches of
// `batch_size` samples.
EpochRest rest_after(const EpochRest& part, int64_t batches, int64_t batch_size, int64_t world);

// The order of each epoch. All ranks compute the same order, and rank r of w takes the places r, r + w, r + 2w, ...
// Each sample is read by exactly one rank. There is no padding, and no remainder is dropped without drop_last. The k-th
// batches of b samples of all ranks together are the k-th batch of w * b samples of a single process. So the shares of
// the last batch may differ by one sample, and some may be empty.
//
// weighted samples as many indices as there are samples, with replacement and with probabilities proportional to the
// weights. Some samples occur several times and others never (as in torch.utils.data.WeightedRandomSampler).
//
// length_bucketed sorts each kSortedBatches batches of the shuffled order by length, cuts them into batches and
// shuffles the batches, except a smaller last one (as the pool of torchtext's BucketIterator). Without shuffle, the
// whole epoch is sorted.
//
// With repeats, an epoch from 1 on has as many places as without. They hold the first samples of the order, each
// `repeats` times in succession: repeated augmentation of Hoffer et al., arXiv:1901.09335, as in RASampler of
// torchvision and timm. So the repetitions of a sample are read by different ranks. Epoch 0, a pass that is always the
// same, has no repetitions.
//
// The rest of an epoch keeps the order with which the epoch began, and is divided anew. So each sample is read once,
// whatever the batches before. With a limited number of batches, the earlier ones count too. With drop_last, the rest
// has only batches of batch_size samples on each rank, and may be empty.
class Sampler {
 public:
  static constexpr int64_t kSortedBatches = 100;

  // REQUIRES: the traits that the kind needs, for each sample of the dataset.
  Sampler(int64_t dataset_size, const SamplerOptions& options, SampleTraits traits = {});

  int64_t available() const { return available_; }  // number of samples to choose from
  int64_t size() const { return size_; }            // samples of an epoch, over all ranks
  int64_t size(const EpochRest& rest) const;        // samples of the rest, over all ranks
  // The samples of this rank, and those of all ranks in an epoch.
  std::vector<int64_t> order(int64_t epoch, const EpochRest& rest = {}) const;
  std::vector<int64_t> common_order(int64_t epoch) const { return common_order(epoch, total_batch()); }
  // For each place of order(), how many earlier places of the common order have its sample. Empty if none has.
  std::vector<int64_t> repetitions(int64_t epoch, const EpochRest& rest = {}) const;
  // The samples to choose from, ascending; empty: the whole dataset.
  const std::vector<int64_t>& samples() const { return samples_; }
  int64_t first(int64_t epoch) const;  // the first sample over all ranks. REQUIRES: size() > 0

 private:
  int64_t total_batch() const { return options_.batch_size * options_.world; }
  int64_t total_batch(const EpochRest& rest) const { return rest.total_batch > 0 ? rest.total_batch : total_batch(); }
  int64_t count_samples(int64_t total_batch) const;
  std::vector<int64_t> common_order(int64_t epoch, int64_t total_batch) const;
  std::vector<int64_t> draw_places(int64_t epoch, int64_t count) const;
  std::vector<int64_t> take_share(std::vector<int64_t> places, const EpochRest& rest) const;
  void bucket(std::vector<int64_t>& order, int64_t epoch, int64_t total_batch) const;

  SamplerOptions options_;
  std::vector<int64_t> lengths_;       // lengths of the dataset's samples
  std::vector<double> weights_up_to_;  // cumulative weights, including each available sample
  std::vector<int64_t> samples_;       // samples of the subset or those chosen; empty for the whole dataset
  int64_t dataset_size_;
  bool has_part_ = false;  // whether there are samples_
  int64_t available_;      // number of samples to choose from
  int64_t size_;
};

}  // namespace tenon::data

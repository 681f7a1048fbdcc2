#include "framework/data/sampler.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <utility>

#include "framework/support/check.h"
#include "framework/support/philox.h"

namespace tenon::data {
namespace {

__extension__ using Uint128 = unsigned __int128;

// The numbers of one shuffle, by position in the stream of (seed, epoch).
class ShuffleStream {
 public:
  ShuffleStream(uint64_t seed, uint32_t epoch) : seed_(seed), epoch_(epoch) {}

  // Uniform in [0, bound), each value exactly as likely. REQUIRES: bound > 0.
  uint64_t below(uint64_t bound) {
    Uint128 product = Uint128{bits()} * bound;
    if (static_cast<uint64_t>(product) < bound) {
      // 2^64 mod bound of the 2^64 products would make some values likelier: those are drawn again.
      const uint64_t biased = -bound % bound;
      while (static_cast<uint64_t>(product) < biased) product = Uint128{bits()} * bound;
    }
    return static_cast<uint64_t>(product >> 64);
  }

 private:
  uint64_t bits() { return support::derive_seed(seed_, support::StreamPurpose::shuffle, epoch_, position_++); }

  uint64_t seed_;
  uint32_t epoch_;
  uint64_t position_ = 0;
};

// Rounded down, so that a subset begins exactly where the one before it ends.
size_t place_of(int64_t millionths, int64_t size) {
  const Uint128 product = Uint128(static_cast<uint64_t>(size)) * static_cast<uint64_t>(millionths);
  return static_cast<size_t>(product / static_cast<uint64_t>(config::Subset::kWhole));
}

}  // namespace

std::vector<int64_t> sequential_order(int64_t size) {
  TENON_CHECK(size >= 0, "size " << size);
  std::vector<int64_t> order(static_cast<size_t>(size));
  std::iota(order.begin(), order.end(), int64_t{0});
  return order;
}

std::vector<int64_t> shuffled_order(int64_t size, uint64_t seed, int64_t epoch) {
  TENON_CHECK(epoch >= 0 && epoch <= std::numeric_limits<uint32_t>::max(), "epoch " << epoch);
  std::vector<int64_t> order = sequential_order(size);
  ShuffleStream stream(seed, static_cast<uint32_t>(epoch));
  for (size_t left = order.size(); left > 1; --left) std::swap(order[left - 1], order[stream.below(left)]);
  return order;
}

std::vector<int64_t> subset_samples(int64_t size, const config::Subset& subset, uint64_t seed) {
  // Epochs of training count from 1, so that no shuffle of one is this one, whatever the seeds.
  const std::vector<int64_t> order = shuffled_order(size, seed, 0);
  std::vector<int64_t> samples(order.begin() + static_cast<ptrdiff_t>(place_of(subset.begin, size)),
                               order.begin() + static_cast<ptrdiff_t>(place_of(subset.end, size)));
  std::sort(samples.begin(), samples.end());
  return samples;
}

Sampler::Sampler(int64_t dataset_size, const SamplerOptions& options)
    : options_(options), available_(dataset_size), size_(0) {
  TENON_CHECK(dataset_size >= 0 && options.most >= 0, "size " << dataset_size << ", most " << options.most);
  TENON_CHECK(options.rank >= 0 && options.rank < options.world, "rank " << options.rank << " of " << options.world);
  if (!options.subset.is_whole()) {
    samples_ = subset_samples(dataset_size, options.subset, options.subset_seed);
    available_ = static_cast<int64_t>(samples_.size());
  }
  size_ = options.most > 0 ? std::min(options.most, available_) : available_;
}

std::vector<int64_t> Sampler::common_order(int64_t epoch) const {
  std::vector<int64_t> order =
      options_.shuffle ? shuffled_order(available_, options_.seed, epoch) : sequential_order(available_);
  order.resize(static_cast<size_t>(size_));
  if (!options_.subset.is_whole())
    for (int64_t& place : order) place = samples_[static_cast<size_t>(place)];
  return order;
}

std::vector<int64_t> Sampler::order(int64_t epoch) const {
  std::vector<int64_t> order = common_order(epoch);
  if (options_.world == 1) return order;
  size_t taken = 0;
  for (int64_t place = options_.rank; place < size_; place += options_.world)
    order[taken++] = order[static_cast<size_t>(place)];
  order.resize(taken);
  return order;
}

}  // namespace tenon::data

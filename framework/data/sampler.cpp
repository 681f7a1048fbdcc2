#include "framework/data/sampler.h"

#include <algorithm>
#include <limits>
#include <numeric>
#include <span>
#include <utility>

#include "framework/support/compute/philox.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::data {
namespace {

__extension__ using Uint128 = unsigned __int128;

using config::SamplerKind;
using support::StreamPurpose;

// The random numbers of one epoch: a stream that depends on seed and epoch.
class EpochStream {
 public:
  EpochStream(uint64_t seed, int64_t epoch, StreamPurpose purpose = StreamPurpose::shuffle)
      : seed_(seed), epoch_(static_cast<uint32_t>(epoch)), purpose_(purpose) {
    TENON_CHECK(epoch >= 0 && epoch <= std::numeric_limits<uint32_t>::max(), "epoch " << epoch);
  }

  // Uniform in [0, bound), without bias. REQUIRES: bound > 0.
  uint64_t below(uint64_t bound) {
    Uint128 product = Uint128{bits()} * bound;
    if (static_cast<uint64_t>(product) < bound) {
      // Products with a low half below 2^64 mod bound would bias the result. They are rejected and sampled again.
      const uint64_t biased = -bound % bound;
      while (static_cast<uint64_t>(product) < biased) product = Uint128{bits()} * bound;
    }
    return static_cast<uint64_t>(product >> 64);
  }

  // Uniform in [0, 1), a multiple of 2^-53.
  double unit() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  // Fisher-Yates (Durstenfeld).
  void shuffle(std::span<int64_t> numbers) {
    for (size_t left = numbers.size(); left > 1; --left) std::swap(numbers[left - 1], numbers[below(left)]);
  }

 private:
  uint64_t bits() { return support::derive_seed(seed_, purpose_, epoch_, position_++); }

  uint64_t seed_;
  uint32_t epoch_;
  StreamPurpose purpose_;
  uint64_t position_ = 0;
};

// Rounded down, so that a subset starts exactly where the previous one ends.
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
  std::vector<int64_t> order = sequential_order(size);
  EpochStream(seed, epoch).shuffle(order);
  return order;
}

std::vector<int64_t> spread_places(int64_t size, int64_t count) {
  TENON_CHECK(count >= 0 && count <= size, "count " << count << " of " << size);
  // The multiples of the golden ratio fill [0, 1) evenly, and have no period that could be one of the data: Weyl,
  // "Ueber die Gleichverteilung von Zahlen mod. Eins", Mathematische Annalen 77 (1916).
  constexpr uint64_t kGoldenRatio = 0x9E3779B97F4A7C15u;  // its fractional part times 2^64
  std::vector<int64_t> places;
  const auto begin_of = [&](int64_t part) {
    return static_cast<uint64_t>(Uint128(static_cast<uint64_t>(part)) * static_cast<uint64_t>(size) /
                                 static_cast<uint64_t>(count));
  };
  for (int64_t part = 0; part < count; ++part) {
    const uint64_t begin = begin_of(part);
    const uint64_t fraction = static_cast<uint64_t>(part) * kGoldenRatio;  // of the part, times 2^64
    const Uint128 offset = Uint128{fraction} * (begin_of(part + 1) - begin);
    places.push_back(static_cast<int64_t>(begin + static_cast<uint64_t>(offset >> 64)));
  }
  return places;
}

std::vector<int64_t> subset_samples(int64_t size, const config::Subset& subset, uint64_t seed) {
  // Training epochs count from 1, so none of their shuffles equals this one for any seed.
  const std::vector<int64_t> order = shuffled_order(size, seed, 0);
  std::vector<int64_t> samples(order.begin() + static_cast<ptrdiff_t>(place_of(subset.begin, size)),
                               order.begin() + static_cast<ptrdiff_t>(place_of(subset.end, size)));
  std::ranges::sort(samples);
  return samples;
}

EpochRest rest_after(const EpochRest& part, int64_t batches, int64_t batch_size, int64_t world) {
  const int64_t total_batch = batch_size * world;
  return {.places = part.places + batches * total_batch,
          .batches = part.batches + batches,
          .total_batch = part.total_batch > 0 ? part.total_batch : total_batch,
          .batch_number = (part.batch_number > 0 ? part.batch_number : world) + batches * world};
}

Sampler::Sampler(int64_t dataset_size, const SamplerOptions& options, SampleTraits traits)
    : options_(options),
      lengths_(std::move(traits.lengths)),
      dataset_size_(dataset_size),
      available_(dataset_size),
      size_(0) {
  TENON_CHECK(dataset_size >= 0 && options.most >= 0, "size " << dataset_size << ", most " << options.most);
  TENON_CHECK(options.rank >= 0 && options.rank < options.world, "rank " << options.rank << " of " << options.world);
  TENON_CHECK(options.repeats >= 1, "repeats " << options.repeats);
  const auto has_all = [&](size_t count) { return static_cast<int64_t>(count) == dataset_size; };
  TENON_CHECK(options.kind != SamplerKind::length_bucketed || (has_all(lengths_.size()) && options.batch_size > 0),
              "lengths " << lengths_.size() << ", batch size " << options.batch_size);
  TENON_CHECK(!options.spreads_limit || (options.kind == SamplerKind::uniform && !options.shuffle),
              "kind " << static_cast<int>(options.kind) << ", shuffle " << options.shuffle);
  TENON_CHECK(options.kind != SamplerKind::weighted || has_all(traits.weights.size()),
              "weights " << traits.weights.size());
  has_part_ = !options.chosen.empty() || !options.subset.is_whole();
  if (has_part_) {
    samples_ = options.chosen.empty() ? subset_samples(dataset_size, options.subset, options.subset_seed)
                                      : std::move(options_.chosen);
    available_ = static_cast<int64_t>(samples_.size());
  }
  TENON_CHECK(!options.drop_last || options.batch_size > 0, "batch size " << options.batch_size);
  size_ = count_samples(total_batch());
  if (options.kind == SamplerKind::weighted) {
    double sum = 0;
    for (int64_t place = 0; place < available_; ++place) {
      const int64_t sample = samples_.empty() ? place : samples_[static_cast<size_t>(place)];
      weights_up_to_.push_back(sum += traits.weights[static_cast<size_t>(sample)]);
    }
  }
}

// The samples of an epoch with batches of this size over all ranks.
int64_t Sampler::count_samples(int64_t total_batch) const {
  int64_t most = options_.most;
  if (total_batch != this->total_batch()) most = most / this->total_batch() * total_batch;
  const int64_t size = most > 0 ? std::min(most, available_) : available_;
  return options_.drop_last ? size - size % total_batch : size;
}

int64_t Sampler::size(const EpochRest& rest) const {
  int64_t size = count_samples(total_batch(rest)) - rest.places;
  if (options_.most > 0) size = std::min(size, options_.most - rest.batches * total_batch());
  size = std::max<int64_t>(size, 0);
  return options_.drop_last ? size - size % total_batch() : size;
}

std::vector<int64_t> Sampler::common_order(int64_t epoch, int64_t total_batch) const {
  const int64_t size = count_samples(total_batch);
  std::vector<int64_t> order;
  if (options_.kind == SamplerKind::weighted)
    order = draw_places(epoch, size);
  else if (options_.spreads_limit)
    order = spread_places(available_, size);
  else
    order = options_.shuffle ? shuffled_order(available_, options_.seed, epoch) : sequential_order(available_);
  order.resize(static_cast<size_t>(size));
  if (options_.repeats > 1 && epoch > 0)
    for (size_t place = order.size(); place-- > 0;) order[place] = order[place / static_cast<size_t>(options_.repeats)];
  if (has_part_)
    for (int64_t& place : order) place = samples_[static_cast<size_t>(place)];
  if (options_.kind == SamplerKind::length_bucketed) bucket(order, epoch, total_batch);
  return order;
}

std::vector<int64_t> Sampler::draw_places(int64_t epoch, int64_t count) const {
  EpochStream stream(options_.seed, epoch);
  std::vector<int64_t> places;
  for (int64_t i = 0; i < count; ++i) {
    // Chooses the first sample with a cumulative weight above the random value, so never one of weight 0. If rounding
    // makes the value equal to the total, it chooses the first sample that reaches the total.
    const double drawn = stream.unit() * weights_up_to_.back();
    auto found = std::ranges::upper_bound(weights_up_to_, drawn);
    if (found == weights_up_to_.end()) found = std::ranges::lower_bound(weights_up_to_, weights_up_to_.back());
    places.push_back(found - weights_up_to_.begin());
  }
  return places;
}

// Buckets the common batches of all ranks, so that each rank's batches also have similar lengths.
void Sampler::bucket(std::vector<int64_t>& order, int64_t epoch, int64_t total_batch) const {
  const auto by_length = [this](int64_t sample) { return lengths_[static_cast<size_t>(sample)]; };
  if (!options_.shuffle) {
    std::ranges::stable_sort(order, {}, by_length);
    return;
  }

  const size_t batch = static_cast<size_t>(total_batch);
  const size_t window = batch * kSortedBatches;
  for (size_t begin = 0; begin < order.size(); begin += window) {
    const size_t count = std::min(window, order.size() - begin);
    std::ranges::stable_sort(std::span(order).subspan(begin, count), {}, by_length);
  }
  std::vector<int64_t> batches = sequential_order(static_cast<int64_t>(order.size() / batch));
  EpochStream(options_.seed, epoch, StreamPurpose::batch_order).shuffle(batches);
  const std::vector<int64_t> sorted = order;
  for (size_t i = 0; i < batches.size(); ++i)
    std::copy_n(sorted.begin() + batches[i] * static_cast<int64_t>(batch), batch,
                order.begin() + static_cast<ptrdiff_t>(i * batch));
}

int64_t Sampler::first(int64_t epoch) const { return common_order(epoch).front(); }

std::vector<int64_t> Sampler::order(int64_t epoch, const EpochRest& rest) const {
  return take_share(common_order(epoch, total_batch(rest)), rest);
}

std::vector<int64_t> Sampler::repetitions(int64_t epoch, const EpochRest& rest) const {
  if (options_.kind != SamplerKind::weighted && (options_.repeats == 1 || epoch == 0)) return {};
  std::vector<int64_t> numbers = common_order(epoch, total_batch(rest));
  std::vector<int64_t> counts(static_cast<size_t>(dataset_size_));
  for (int64_t& number : numbers) number = counts[static_cast<size_t>(number)]++;
  return take_share(std::move(numbers), rest);
}

std::vector<int64_t> Sampler::take_share(std::vector<int64_t> places, const EpochRest& rest) const {
  const int64_t end = rest.places + size(rest);
  size_t taken = 0;
  for (int64_t place = rest.places + options_.rank; place < end; place += options_.world)
    places[taken++] = places[static_cast<size_t>(place)];
  places.resize(taken);
  return places;
}

}  // namespace tenon::data

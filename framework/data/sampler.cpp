#include "framework/data/sampler.h"

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

}  // namespace tenon::data

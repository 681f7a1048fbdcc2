#include "tests/cuda_standin/runs/covering_array.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <numeric>
#include <set>

namespace tenon::standin {

namespace {

constexpr int kCandidates = 10;  // for each combination; the one with the most new pairs is taken

using Pair = std::array<int, 4>;  // a value of a factor, and a value of a later factor

Pair pair_of(int f, int v, int g, int w) { return f < g ? Pair{f, v, g, w} : Pair{g, w, f, v}; }

// As std::shuffle(), but the same with each standard library.
std::vector<int> shuffled_numbers(int count, std::mt19937& random) {
  std::vector<int> numbers(static_cast<size_t>(count));
  std::iota(numbers.begin(), numbers.end(), 0);
  for (size_t i = numbers.size(); i > 1; --i) std::swap(numbers[i - 1], numbers[random() % i]);
  return numbers;
}

bool fits_all(const Factors& factors, const Combination& combination, int factor, int value) {
  for (int other = 0; other < static_cast<int>(combination.size()); ++other) {
    const int other_value = combination[static_cast<size_t>(other)];
    if (other == factor || other_value < 0) continue;
    const auto [f, v, g, w] = pair_of(factor, value, other, other_value);
    if (!factors.fits(f, v, g, w)) return false;
  }
  return true;
}

}  // namespace

bool complete(const Factors& factors, Combination& combination, std::mt19937& random, const Gain& gain) {
  const std::vector<int> order = shuffled_numbers(static_cast<int>(combination.size()), random);
  const auto next =
      std::ranges::find_if(order, [&](int factor) { return combination[static_cast<size_t>(factor)] < 0; });
  if (next == order.end()) return true;
  const auto place = static_cast<size_t>(*next);
  std::vector<int> values = shuffled_numbers(factors.sizes[place], random);
  std::ranges::stable_sort(values, std::greater<>(), [&](int value) { return gain(combination, *next, value); });
  for (const int value : values) {
    if (!fits_all(factors, combination, *next, value)) continue;
    combination[place] = value;
    if (complete(factors, combination, random, gain)) return true;
  }
  combination[place] = -1;
  return false;
}

std::vector<Combination> cover_pairs(const Factors& factors, unsigned seed) {
  std::mt19937 random(seed);
  const int count = static_cast<int>(factors.sizes.size());
  std::set<Pair> missing;
  for (int f = 0; f < count; ++f)
    for (int g = f + 1; g < count; ++g)
      for (int v = 0; v < factors.sizes[static_cast<size_t>(f)]; ++v)
        for (int w = 0; w < factors.sizes[static_cast<size_t>(g)]; ++w)
          if (factors.fits(f, v, g, w)) missing.insert({f, v, g, w});
  const auto count_missing = [&](const Combination& combination, int factor, int value) {
    int pairs = 0;
    for (int other = 0; other < count; ++other) {
      const int other_value = combination[static_cast<size_t>(other)];
      if (other != factor && other_value >= 0) pairs += missing.contains(pair_of(factor, value, other, other_value));
    }
    return pairs;
  };
  std::vector<Combination> combinations;
  while (!missing.empty()) {
    Combination best;
    int most = 0;
    for (int i = 0; i < kCandidates; ++i) {
      const auto [f, v, g, w] = *std::next(missing.begin(), static_cast<long>(random() % missing.size()));
      Combination candidate(factors.sizes.size(), -1);
      candidate[static_cast<size_t>(f)] = v;
      candidate[static_cast<size_t>(g)] = w;
      if (!complete(factors, candidate, random, count_missing)) {
        missing.erase({f, v, g, w});  // no combination has it
        if (missing.empty()) break;
        continue;
      }
      int pairs = 0;  // each twice
      for (int factor = 0; factor < count; ++factor)
        pairs += count_missing(candidate, factor, candidate[static_cast<size_t>(factor)]);
      if (pairs > most) {
        most = pairs;
        best = candidate;
      }
    }
    if (best.empty()) continue;
    for (int f = 0; f < count; ++f)
      for (int g = f + 1; g < count; ++g)
        missing.erase({f, best[static_cast<size_t>(f)], g, best[static_cast<size_t>(g)]});
    combinations.push_back(std::move(best));
  }
  return combinations;
}

}  // namespace tenon::standin

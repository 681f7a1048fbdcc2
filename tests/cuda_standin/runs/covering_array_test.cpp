#include "tests/cuda_standin/runs/covering_array.h"

#include <algorithm>
#include <array>
#include <set>

#include "tests/cuda_standin/runs/combinations.h"
#include "tests/doctest_with_torch.h"

namespace tenon::standin {
namespace {

using Pairs = std::set<std::array<int, 4>>;

void add_pairs(const Combination& combination, Pairs& pairs) {
  const int count = static_cast<int>(combination.size());
  for (int f = 0; f < count; ++f)
    for (int g = f + 1; g < count; ++g)
      pairs.insert({f, combination[static_cast<size_t>(f)], g, combination[static_cast<size_t>(g)]});
}

// All combinations that fit.
std::vector<Combination> whole_product(const Factors& factors) {
  std::vector<Combination> all{{}};
  for (const int size : factors.sizes) {
    std::vector<Combination> longer;
    for (const Combination& combination : all)
      for (int value = 0; value < size; ++value) {
        const int g = static_cast<int>(combination.size());
        bool fits = true;
        for (int f = 0; f < g; ++f) fits = fits && factors.fits(f, combination[static_cast<size_t>(f)], g, value);
        if (!fits) continue;
        longer.push_back(combination);
        longer.back().push_back(value);
      }
    all = std::move(longer);
  }
  return all;
}

}  // namespace

TEST_CASE("the chosen combinations have every pair of values that any combination has") {
  const auto any = [](int, int, int, int) { return true; };
  // Value 0 of the first factor needs value 0 of the second one, which does not fit value 2 of the last one.
  const auto some = [](int f, int v, int g, int w) {
    if (f == 0 && g == 1) return v != 0 || w == 0;
    return f != 1 || g != 4 || v != 0 || w != 2;
  };
  for (const Factors& factors : {Factors{{3, 4, 2, 2, 3}, any}, Factors{{3, 4, 2, 2, 3}, some}, Factors{{2, 2}, any}}) {
    const std::vector<Combination> product = whole_product(factors), chosen = cover_pairs(factors, 1);
    Pairs expected, covered;
    for (const Combination& combination : product) add_pairs(combination, expected);
    for (const Combination& combination : chosen) {
      CHECK(std::ranges::find(product, combination) != product.end());
      add_pairs(combination, covered);
    }
    CHECK((covered == expected));
    CHECK((chosen.size() < product.size() || factors.sizes.size() == 2));
    CHECK((chosen == cover_pairs(factors, 1)));
  }
}

TEST_CASE("the combinations have every bundled model, loss and metric, and every optimizer") {
  const std::set<std::string> used = used_components(), bundled = bundled_components();
  CHECK(used.size() == bundled.size());
  for (const std::string& id : bundled) {
    const std::string& component = id;
    CAPTURE(component);
    CHECK(used.contains(component));
  }
}

}  // namespace tenon::standin

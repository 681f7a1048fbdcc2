#include "framework/config/values/text_values.h"

#include <doctest/doctest.h>

#include <random>

namespace tenon::config {
namespace {

constexpr int64_t kPercent = Subset::kPercent;

}  // namespace

TEST_CASE("a subset is a percentage or a range of percentages") {
  CHECK(parse_subset("80%") == Subset{0, 80 * kPercent});
  CHECK(parse_subset("80%-100%") == Subset{80 * kPercent, 100 * kPercent});
  CHECK(parse_subset("0%-100%")->is_whole());
  CHECK(parse_subset("100%")->is_whole());
  CHECK(parse_subset("12.5%-33.333333%") == Subset{12'500'000, 33'333'333});
  CHECK(parse_subset("0.000001%") == Subset{0, 1});
  CHECK(parse_subset("050%") == Subset{0, 50 * kPercent});
}

TEST_CASE("text that is not a subset is refused") {
  for (const char* text : {"",
                           "%",
                           "80",
                           "0.8",
                           "0%",
                           "101%",
                           "100.000001%",
                           "50%-50%",
                           "60%-40%",
                           "40%-",
                           "-40%",
                           "40%-60",
                           "40%60%",
                           "40% - 60%",
                           " 40%",
                           "40% ",
                           "40.%",
                           ".5%",
                           "1.0000000%",
                           "1e1%",
                           "+1%",
                           "40%-60%-80%",
                           "99999999999999999999%",
                           "50%-101%",
                           "nan%"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_subset(text));
  }
}

TEST_CASE("subsets are printed in the shortest form") {
  CHECK(to_string(Subset{}) == "100%");
  CHECK(to_string(*parse_subset("0%-80.500%")) == "80.5%");
  CHECK(to_string(*parse_subset("80.05%-100.0%")) == "80.05%-100%");
}

TEST_CASE("a printed subset is parsed to the same subset") {
  std::mt19937_64 random(5);
  for (int i = 0; i < 1000; ++i) {
    int64_t begin = static_cast<int64_t>(random() % static_cast<uint64_t>(Subset::kWhole));
    int64_t end = static_cast<int64_t>(random() % static_cast<uint64_t>(Subset::kWhole + 1));
    if (begin > end) std::swap(begin, end);
    if (begin == end) ++end;
    const Subset subset{begin, end};
    CAPTURE(to_string(subset));
    CHECK(parse_subset(to_string(subset)) == subset);
  }
}

}  // namespace tenon::config

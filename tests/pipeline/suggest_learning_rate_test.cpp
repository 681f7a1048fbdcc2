// Tests the suggestion of a learning rate on synthetic loss curves.
#include <cmath>

#include "framework/pipeline/tools/learning_rate_search.h"
#include "tests/doctest_with_torch.h"

using namespace tenon::pipeline;

namespace {

// A loss over exponents of 10, from -6 in equal steps.
std::vector<LearningRateTrial> trace(size_t count, double step, double (*loss_at)(double exponent)) {
  std::vector<LearningRateTrial> trials;
  for (size_t i = 0; i < count; ++i) {
    const double exponent = -6 + step * static_cast<double>(i), loss = loss_at(exponent);
    trials.push_back({std::pow(10, exponent), loss, loss});
  }
  return trials;
}

// Falls from 2 to 1, fastest at -2.5.
double sigmoid(double exponent) { return 2 - 1 / (1 + std::exp(-4 * (exponent + 2.5))); }
double rising_sigmoid(double exponent) { return 4 - sigmoid(exponent); }
// Falls as sigmoid(), then explodes.
double diverging(double exponent) { return sigmoid(exponent) + std::exp(6 * (exponent + 1)); }
// Falls in one place only, and rises by more after it.
double notch(double exponent) { return exponent < -5.2 ? 1.3 : exponent > -5 ? 1.4 : 1.0; }

}  // namespace

TEST_CASE("the suggestion is the rate with the steepest descent") {
  for (const auto loss_at : {sigmoid, diverging}) {
    const auto trials = trace(61, 0.1, loss_at);
    const std::optional<size_t> suggestion = suggest_learning_rate(trials);
    REQUIRE(suggestion.has_value());
    CHECK(std::log10(trials[*suggestion].learning_rate) == doctest::Approx(-2.5).epsilon(0.05));
  }
  CHECK_FALSE(suggest_learning_rate(trace(61, 0.1, rising_sigmoid)).has_value());
}

TEST_CASE("a loss that falls has a suggestion, however few trials there are") {
  for (const size_t count : {2, 3, 4, 5, 8, 10, 20, 100}) {
    CAPTURE(count);
    const double step = 6.0 / static_cast<double>(count - 1);
    CHECK(suggest_learning_rate(trace(count, step, sigmoid)).has_value());
    CHECK_FALSE(suggest_learning_rate(trace(count, step, rising_sigmoid)).has_value());
  }
  CHECK(suggest_learning_rate(trace(8, 0.3, notch)) == 2);
  CHECK_FALSE(suggest_learning_rate({}).has_value());
  CHECK_FALSE(suggest_learning_rate(trace(1, 1, sigmoid)).has_value());
}

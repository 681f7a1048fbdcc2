#include "framework/validation/checks/sample_order_checks.h"

#include <tenon/sample_order.h>

#include <algorithm>
#include <cmath>
#include <string>

#include "framework/validation/session/dataset_under_test.h"

namespace tenon::validation {

namespace {

template <class Number, class Extension>
using Fill = tenon_status (*Extension::*)(void* self, Number* numbers);

// Calls the function twice. Both results must be equal, and the memory after the last sample must stay unchanged.
template <class Number, class Extension>
std::vector<Number> call_twice(Session& session, const char* id, const char* function, Fill<Number, Extension> fill) {
  constexpr Number kUntouched = -12345;
  DatasetUnderTest dataset(session);
  const auto* extension = dataset.subject().extension<Extension>(id);
  if (!extension) throw Skipped("it does not provide them (" + std::string(id) + ")");
  const auto length = static_cast<size_t>(dataset.length());
  std::vector<Number> numbers[2];
  for (std::vector<Number>& given : numbers) {
    given.assign(length + 1, kUntouched);
    dataset.subject().call(function, [&] { return (extension->*fill)(dataset.subject().self(), given.data()); });
    if (given.back() != kUntouched)
      throw Failed(std::string(function) + " writes more than " + std::to_string(length) + " numbers, one per sample");
    given.pop_back();
  }
  const auto [one, other] = std::mismatch(numbers[0].begin(), numbers[0].end(), numbers[1].begin());
  if (one != numbers[0].end() && !(std::isnan(*one) && std::isnan(*other)))
    throw Failed(std::string(function) + " returns " + std::to_string(*one) + " for sample " +
                 std::to_string(one - numbers[0].begin()) + ", then " + std::to_string(*other) +
                 "; expected the same each time");
  return numbers[0];
}

void check_lengths(Session& session) {
  const std::vector<int64_t> lengths = call_twice<int64_t, tenon_sample_lengths>(
      session, TENON_SAMPLE_LENGTHS, "lengths", &tenon_sample_lengths::lengths);
  for (size_t i = 0; i < lengths.size(); ++i)
    if (lengths[i] < 0)
      throw Failed("lengths returns " + std::to_string(lengths[i]) + " for sample " + std::to_string(i) +
                   "; expected 0 or more");
}

void check_weights(Session& session) {
  const std::vector<double> weights = call_twice<double, tenon_sample_weights>(session, TENON_SAMPLE_WEIGHTS, "weights",
                                                                               &tenon_sample_weights::weights);
  for (size_t i = 0; i < weights.size(); ++i)
    if (!std::isfinite(weights[i]) || weights[i] < 0)
      throw Failed("weights returns " + std::to_string(weights[i]) + " for sample " + std::to_string(i) +
                   "; expected a finite number of 0 or more");
  if (std::ranges::all_of(weights, [](double weight) { return weight == 0; }))
    throw Failed("weights returns 0 for every sample; expected at least one above 0");
}

Check make_sample_order_check(const char* name, void (*run)(Session&)) {
  return {name, Level::contract, Check::Of::kind, config::ComponentKind::dataset, {"fields", "extensions"}, run};
}

}  // namespace

std::vector<Check> sample_order_checks() {
  return {make_sample_order_check("sample-lengths", check_lengths),
          make_sample_order_check("sample-weights", check_weights)};
}

}  // namespace tenon::validation

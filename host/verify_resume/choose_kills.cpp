#include "host/verify_resume/choose_kills.h"

#include <algorithm>
#include <random>
#include <string>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"

namespace tenon::host {

namespace {

// Does not use the standard distributions: their numbers depend on the library.
int64_t draw(std::mt19937_64& random, int64_t below) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
}

}  // namespace

std::vector<KillAt> choose_kills(const std::vector<int64_t>& saved_steps, int64_t last_step, int64_t processes,
                                 int64_t count, uint64_t seed) {
  const int64_t safe = saved_steps.size() < 2 ? last_step : saved_steps[1];
  const int64_t steps = last_step - safe;
  if (steps < count)
    throw support::Error(support::ErrorKind::configuration,
                         "command line: the shortened run ends after step " + std::to_string(last_step) + " and has " +
                             support::format_count(steps, "step") + " after its second checkpoint, for " +
                             support::format_count(count, "kill") +
                             "; expected a step for each: raise --steps, or lower --kills");
  std::mt19937_64 random(seed);
  std::vector<KillAt> kills;
  for (int64_t i = 0; i < count; ++i) {
    const int64_t first = safe + 1 + steps * i / count, end = safe + 1 + steps * (i + 1) / count;
    KillAt kill{first + draw(random, end - first), draw(random, processes), KillAt::TimePoint::step_end};
    const auto saved = std::lower_bound(saved_steps.begin(), saved_steps.end(), first);
    if (i % 2 == 1 && saved != saved_steps.end() && *saved < end) kill = {*saved, 0, KillAt::TimePoint::saved_step};
    kills.push_back(kill);
  }
  return kills;
}

}  // namespace tenon::host

#include "host/verify_resume/shortened_run.h"

#include <algorithm>
#include <random>

#include "framework/config/values/text_values.h"
#include "framework/data/feed.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/text/format_values.h"

namespace tenon::host {

namespace {

using config::Period;

constexpr int64_t kEpochs = 3;
constexpr int64_t kSaves = 6;
constexpr int64_t kValidationBatches = 2;
constexpr int64_t kLogEvery = 2;

int64_t divide_up(int64_t number, int64_t by) { return (number + by - 1) / by; }

// A limit of 0 means no limit.
int64_t tighter(int64_t limit, int64_t other) { return limit > 0 ? std::min(limit, other) : other; }

std::string steps_text(int64_t steps) {
  return "\"" + config::to_string(Period{Period::Unit::steps, static_cast<double>(steps)}) + "\"";
}

// Counts the batches of each process in an epoch.
int64_t count_batches(const OpenedRunFile& opened, int64_t limit) {
  config::RunPlan plan = opened.plan;
  plan.data.limit_batches = limit;
  plan.data.workers = 0;
  return data::Feed(opened.catalogue, plan, plan.data.train, {0, plan.distributed.processes}).batches();
}

// Replaces periods that are times, or longer than the shortened run.
std::string validation_period(const Period& every, int64_t steps) {
  if (every.is_fraction()) return "\"" + config::to_string(every) + "\"";
  if (every.unit == Period::Unit::epochs) return "\"1 epoch\"";
  const auto most = std::max<int64_t>(steps / 5, 1);
  if (every.unit == Period::Unit::steps && every.count <= static_cast<double>(most))
    return "\"" + config::to_string(every) + "\"";
  return steps_text(most);
}

// Does not use the standard distributions: their numbers depend on the library.
int64_t draw(std::mt19937_64& random, int64_t below) {
  return static_cast<int64_t>(random() % static_cast<uint64_t>(below));
}

}  // namespace

ShortenedRun shorten_run(const OpenedRunFile& opened, int64_t steps) {
  TENON_CHECK(steps >= 1, steps << " steps");
  const config::RunPlan& plan = opened.plan;
  const int64_t accumulate = plan.train.accumulate;
  const int64_t limit = tighter(plan.data.limit_batches, accumulate * divide_up(steps, kEpochs));
  ShortenedRun run;
  run.steps_per_epoch = divide_up(count_batches(opened, limit), accumulate);
  run.epochs = plan.train.epochs > 0 ? divide_up(steps, run.steps_per_epoch) : 0;
  run.steps = run.epochs > 0 ? run.epochs * run.steps_per_epoch : steps;
  run.save_every = std::max<int64_t>(steps / kSaves, 1);
  const auto set = [&run](const std::string& key, const std::string& value) {
    run.overrides.push_back(key + "=" + value);
  };
  set("run.deterministic", "true");
  if (plan.train.cudnn_benchmark == config::CudnnBenchmark::on) set("train.cudnn_benchmark", "\"auto\"");
  set(run.epochs > 0 ? "train.epochs" : "train.steps", std::to_string(run.epochs > 0 ? run.epochs : steps));
  set("data.limit_batches", std::to_string(limit));
  set("checkpoint.every", steps_text(run.save_every));
  set("log.every", steps_text(kLogEvery));
  if (!plan.data.test.empty())
    set("data.test_limit_batches", std::to_string(tighter(plan.data.test_limit_batches, kValidationBatches)));
  if (plan.data.validation.empty()) return run;
  set("data.validation_limit_batches", std::to_string(tighter(plan.data.validation_limit_batches, kValidationBatches)));
  if (plan.validation.every.unit != Period::Unit::never)
    set("validation.every", validation_period(plan.validation.every, steps));
  return run;
}

std::vector<KillAt> choose_kills(const std::vector<int64_t>& saved_steps, int64_t last_step, int64_t processes,
                                 int64_t count, uint64_t seed) {
  const int64_t safe = saved_steps.size() < 2 ? last_step : saved_steps[1];
  const int64_t steps = last_step - safe;
  if (steps < count)
    throw_command_line_error(
        "the shortened run ends after step {} and has {} after its second checkpoint, for {}; expected a step for "
        "each: raise --steps, or lower --kills",
        last_step, support::format_count(steps, "step"), support::format_count(count, "kill"));
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

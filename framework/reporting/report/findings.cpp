#include "framework/reporting/report/report_sections.h"

#include <algorithm>
#include <cmath>
#include <optional>
#include <utility>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/callbacks/progress.h"
#include "framework/formats/strings.h"
#include "framework/support/text/format.h"

namespace tenon::reporting {

namespace {

using artifacts::format_short_number;
using artifacts::HistoryLine;
using Rating = Finding::Rating;
using Series = std::vector<MetricAt>;

constexpr size_t kFewestValues = 8;     // minimum number of values to assess convergence
constexpr double kStillFalling = 0.05;  // part of the total decrease, in the last quarter of the steps
constexpr double kRisen = 0.05;         // part of the best validation loss
constexpr double kNearEnd = 0.1;        // part of all steps
constexpr double kMostTime = 0.4;       // part of the time that the longest stage takes, if it dominates
constexpr double kMoreTime = 1.5;       // times of the longest stage and the next one
constexpr double kNoBetter = 0.98;      // part of the loss of all-zero outputs
constexpr double kExploded = 1.5;       // times the initial loss
constexpr double kTooShort = 5;         // seconds; the times of shorter runs say little

std::string percent(double share) { return fmt::format("{:.{}f} %", 100 * share, share < 0.1 ? 1 : 0); }

std::string at_step(const MetricAt& metric) {
  return fmt::format("{} at step {}", format_short_number(metric.value), metric.step);
}

Series collect(const ReadRun& run, const std::string& metric, bool only_means) {
  const std::vector<std::string> losses = run.losses();
  Series series;
  for (const HistoryLine& line : run.history())
    for (const auto& [name, value] : line.metrics)
      if (name == metric && std::isfinite(value) &&
          artifacts::is_mean_over_epoch(line.event, name, losses) == only_means)
        series.push_back({value, line.step});
  return series;
}

// Collects means over epochs if there are enough of them, otherwise log lines.
Series collect_training_loss(const ReadRun& run) {
  Series epochs = collect(run, "train/loss", true);
  if (epochs.size() >= kFewestValues) return epochs;
  Series lines = collect(run, "train/loss", false);
  return lines.size() > epochs.size() ? lines : epochs;
}

// Returns the loss of the first validation set.
std::string find_validation_loss(const ReadRun& run) {
  for (const std::string& metric : run.metrics())
    if (metric.starts_with("validation/") && metric.ends_with("/loss")) return metric;
  return "";
}

// Returns the mean of the values between two fractions of the last step, or nothing if there are no values.
std::optional<double> mean_between(const Series& series, double from, double to) {
  const auto last = static_cast<double>(series.back().step);
  double sum = 0, count = 0;
  for (const MetricAt& one : series) {
    const double place = static_cast<double>(one.step) / last;
    if (place <= from || place > to) continue;
    sum += one.value;
    ++count;
  }
  return count > 0 ? std::optional(sum / count) : std::nullopt;
}

std::optional<double> find_number(const ReadRun& run, const char* key) {
  const auto found = run.record().find(key);
  return found != run.record().end() && found->is_number() ? std::optional(found->get<double>()) : std::nullopt;
}

std::optional<Finding> assess_beginning(const ReadRun& run) {
  const auto found = find_number(run, "first_loss");
  const auto zero_output = find_number(run, "zero_output_loss");
  if (!found || !zero_output) return std::nullopt;
  const pipeline::FirstLoss loss{*found, *zero_output};
  const std::string question = "Was the initial loss plausible?";
  const std::string numbers = fmt::format("the initial loss was {}; zero outputs would give {}",
                                          format_short_number(loss.found), format_short_number(loss.zero_output));
  if (!loss.is_far_above()) return Finding{Rating::good, question, "Yes: " + numbers + "."};
  return Finding{Rating::bad, question,
                 "No: " + numbers +
                     ". It was far too high: check the initialisation of the model and the scale of its inputs and "
                     "targets."};
}

Finding assess_convergence(const ReadRun& run) {
  const std::string question = "Did it converge?";
  const Series loss = collect_training_loss(run);
  if (loss.size() < 2) return {Rating::neutral, question, "Unknown: the history has too few values of train/loss."};
  const MetricAt &first = loss.front(), &last = loss.back();
  const std::string fall = "train/loss went from " + at_step(first) + " to " + at_step(last);
  if (!(last.value < first.value)) return {Rating::bad, question, "No: " + fall + ", so it did not fall."};
  const auto initial = find_number(run, "first_loss"), chance = find_number(run, "zero_output_loss");
  // The first value of the history may come after the loss has exploded.
  const bool is_above = initial && last.value >= *initial;
  if (is_above && std::max(first.value, last.value) > kExploded * std::fabs(*initial))
    return {Rating::bad, question,
            fmt::format("No: {}, but the initial loss was {}. It diverged: lower the learning rate.", fall,
                        format_short_number(*initial))};
  if (chance && *chance > 0 && last.value >= kNoBetter * *chance)
    return {Rating::bad, question,
            fmt::format("No: {}. Outputs of zeros have {}, so the model has learnt little more than that.", fall,
                        format_short_number(*chance))};
  if (is_above)
    return {Rating::bad, question,
            fmt::format("No: {}, which is not below the initial loss of {}.", fall, format_short_number(*initial))};
  if (run.has_failed()) return {Rating::neutral, question, "Unknown: " + fall + ", before the run failed."};
  if (loss.size() < kFewestValues)
    return {Rating::neutral, question,
            "It learnt: " + fall + ". There are too few values to determine whether it levelled off."};
  const auto before = mean_between(loss, 0.6, 0.75), end = mean_between(loss, 0.85, 1);
  if (!before || !end) return {Rating::neutral, question, "It learnt: " + fall + "."};
  const double share = (*before - *end) / (first.value - last.value);
  if (share > kStillFalling)
    return {
        Rating::neutral, question,
        fmt::format("Not yet: {}, and {} of the decrease came in the last quarter of the steps. More steps may help.",
                    fall, percent(std::min(share, 1.0)))};
  return {Rating::good, question,
          fmt::format("Yes: {}, and levelled off: the last quarter of the steps contributed {} of the decrease.", fall,
                      percent(std::max(share, 0.0)))};
}

// Returns the last value at or before a step, or the first value if there is none.
double value_at(const Series& series, int64_t step) {
  double value = series.front().value;
  for (const MetricAt& one : series)
    if (one.step <= step) value = one.value;
  return value;
}

Finding assess_overfitting(const ReadRun& run) {
  const std::string question = "Did it overfit?";
  const std::string metric = find_validation_loss(run);
  if (metric.empty()) return {Rating::neutral, question, "Unknown: the history has no validation."};
  const Series validation = collect(run, metric, false), training = collect_training_loss(run);
  const auto best = run.best(metric);
  if (validation.size() < 2 || training.empty() || !best)
    return {Rating::neutral, question, "Unknown: the history has too few values of " + metric + "."};
  const MetricAt last = validation.back();
  // Without a scale, a rise from zero is large.
  const double rise = best->value == 0 ? (last.value > 0 ? 1 : 0) : (last.value - best->value) / std::fabs(best->value);
  const bool is_at_end = static_cast<double>(last.step - best->step) <= kNearEnd * static_cast<double>(last.step);
  const double train_then = value_at(training, best->step), train_now = training.back().value;
  const std::string now = format_short_number(train_now), end = format_short_number(last.value);
  if (is_at_end || rise <= kRisen)
    return {run.has_failed() ? Rating::neutral : Rating::good, question,
            fmt::format("No sign of it: the best {0} was {1}, and {2}. The final train/loss is {3} and {0} {4}.",
                        metric, at_step(*best),
                        is_at_end ? "that is near the end" : "the last is at most " + percent(kRisen) + " above it",
                        now, end)};
  if (train_now < train_then)
    return {Rating::bad, question,
            fmt::format("Yes, from about step {}: since then {} has risen from {} to {}{}, while train/loss continued "
                        "to fall from {} to {}.",
                        best->step, metric, format_short_number(best->value), end,
                        best->value == 0 ? "" : " (" + percent(rise) + ")", format_short_number(train_then), now)};
  return {Rating::bad, question,
          fmt::format("Not overfitting: {} has risen from {} to {}, but train/loss has not fallen since then ({}, now "
                      "{}). The learning rate may be too high.",
                      metric, at_step(*best), end, format_short_number(train_then), now)};
}

Finding assess_time(const ReadRun& run) {
  const std::string question = "What took the time?";
  const std::vector<pipeline::StageSeconds> stages = run.stages();
  if (stages.empty())
    return {Rating::neutral, question,
            run.state() == "failed"
                ? "Unknown: a run that fails records no times."
                : "Unknown: a run records the times when it ends. This run has not ended, or was killed."};
  double total = 0;
  for (const pipeline::StageSeconds& one : stages) total += one.seconds;
  const std::string text = formats::join(
      stages, ", ", [&](const pipeline::StageSeconds& one) { return one.name + " " + percent(one.seconds / total); });
  const std::string advice = total < kTooShort ? "" : pipeline::advise(stages, run.planned("data.workers"));
  const double longest = stages.front().seconds, next = stages.size() > 1 ? stages[1].seconds : 0;
  const bool dominates = longest >= kMostTime * total && longest >= kMoreTime * next;
  return {advice.empty() ? Rating::neutral : Rating::bad, question,
          fmt::format("{}: of {}, {}.{}", dominates ? "Mostly " + stages.front().name : std::string("No single stage"),
                      callbacks::format_elapsed(total), text, advice.empty() ? "" : " Advice: " + advice + ".")};
}

std::optional<Finding> find_not_finite(const ReadRun& run) {
  int64_t lines = 0;
  std::string first;
  for (const HistoryLine& line : run.history())
    for (const auto& [name, value] : line.metrics) {
      if (std::isfinite(value)) continue;
      if (lines++ == 0) first = fmt::format("{} at step {}", name, line.step);
    }
  if (lines == 0) return std::nullopt;
  return Finding{Rating::bad, "Was everything finite?",
                 lines == 1 ? "No: " + first + " is NaN or infinite."
                            : fmt::format("No: {} values are NaN or infinite. The first is {}.", lines, first)};
}

Finding describe_end(const ReadRun& run) {
  const std::string question = "How did it end?";
  const std::string reason = run.text("reason").empty() ? "" : " (" + run.text("reason") + ")";
  const std::string place = fmt::format("epoch {}, step {}", run.epoch(), run.step());
  if (run.state() == "finished") return {Rating::good, question, "It finished, after " + place + reason + "."};
  if (run.state() == "failed") return {Rating::bad, question, "It failed, after " + place + reason + "."};
  if (run.state() == "stopped") return {Rating::neutral, question, "It was stopped, after " + place + reason + "."};
  if (run.state() == "running")
    return {Rating::neutral, question, "Not yet: it is running and has reached " + place + "."};
  return {
      Rating::bad, question,
      "It crashed or was killed, after " + place + ": it did not record an end, and no process trains in its folder."};
}

}  // namespace

std::vector<Finding> find_findings(const ReadRun& run) {
  std::vector<Finding> findings{describe_end(run), assess_convergence(run), assess_overfitting(run), assess_time(run)};
  if (auto beginning = assess_beginning(run)) findings.insert(findings.begin() + 1, std::move(*beginning));
  if (auto not_finite = find_not_finite(run)) findings.push_back(std::move(*not_finite));
  return findings;
}

}  // namespace tenon::reporting

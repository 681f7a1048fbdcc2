#include "host/report/findings.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "framework/artifacts/line_chart.h"
#include "framework/callbacks/progress.h"

namespace tenon::host {

namespace {

using artifacts::HistoryLine;
using artifacts::print_short_number;
using Mood = Finding::Mood;
using Series = std::vector<FigureAt>;

constexpr size_t kFewestValues = 8;     // of a curve whose end is judged
constexpr double kStillFalling = 0.05;  // of the whole fall, in the last quarter of the steps
constexpr double kRisen = 0.05;         // of the best validation loss
constexpr double kNearEnd = 0.1;        // of all steps

std::string percent(double share) {
  char text[32];
  std::snprintf(text, sizeof text, share < 0.1 ? "%.1f %%" : "%.0f %%", 100 * share);
  return text;
}

std::string at_step(const FigureAt& figure) {
  return print_short_number(figure.value) + " at step " + std::to_string(figure.step);
}

Series collect(const ReadRun& run, const std::string& figure, bool only_means) {
  const std::vector<std::string> losses = run.losses();
  Series series;
  for (const HistoryLine& line : run.history())
    for (const auto& [name, value] : line.figures)
      if (name == figure && std::isfinite(value) &&
          artifacts::is_mean_over_epoch(line.event, name, losses) == only_means)
        series.push_back({value, line.step});
  return series;
}

// Means over epochs, where there are enough of them.
Series collect_training_loss(const ReadRun& run) {
  Series epochs = collect(run, "train/loss", true);
  if (epochs.size() >= kFewestValues) return epochs;
  Series lines = collect(run, "train/loss", false);
  return lines.size() > epochs.size() ? lines : epochs;
}

// That of the first set, where there are several.
std::string find_validation_loss(const ReadRun& run) {
  for (const std::string& figure : run.figures())
    if (figure.starts_with("validation/") && figure.ends_with("/loss")) return figure;
  return "";
}

// Of the values from a share of the last step to another one; none where there are none.
std::optional<double> mean_between(const Series& series, double from, double to) {
  const auto last = static_cast<double>(series.back().step);
  double sum = 0, count = 0;
  for (const FigureAt& one : series) {
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

std::optional<Finding> judge_beginning(const ReadRun& run) {
  const auto found = find_number(run, "first_loss"), uninformed = find_number(run, "uninformed_loss");
  if (!found || !uninformed) return std::nullopt;
  const pipeline::FirstLoss loss{*found, *uninformed};
  const std::string numbers = "the loss of the first batch was " + print_short_number(loss.found) +
                              ", and outputs that are all zero would have had " + print_short_number(loss.uninformed);
  if (!loss.is_far_above()) return Finding{Mood::good, "Did it begin well?", "Yes: " + numbers + "."};
  return Finding{Mood::bad, "Did it begin well?",
                 "No: " + numbers +
                     ". So far above is worse than knowing nothing: look at how the model is initialised, and at the "
                     "scale of its inputs and of the targets."};
}

Finding judge_convergence(const ReadRun& run) {
  const std::string question = "Did it converge?";
  const Series loss = collect_training_loss(run);
  if (loss.size() < 2) return {Mood::neutral, question, "Unknown: the history has too few values of train/loss."};
  const FigureAt &first = loss.front(), &last = loss.back();
  const std::string fall = "train/loss went from " + at_step(first) + " to " + at_step(last);
  if (!(last.value < first.value)) return {Mood::bad, question, "No: " + fall + ", which is no fall."};
  if (loss.size() < kFewestValues)
    return {Mood::neutral, question,
            "It learnt: " + fall + ". These are too few values to tell whether it had levelled off."};
  const auto before = mean_between(loss, 0.6, 0.75), end = mean_between(loss, 0.85, 1);
  if (!before || !end) return {Mood::neutral, question, "It learnt: " + fall + "."};
  const double share = (*before - *end) / (first.value - last.value);
  if (share > kStillFalling)
    return {Mood::neutral, question,
            "Not yet: " + fall + ", and " + percent(std::min(share, 1.0)) +
                " of that fall came in the last quarter of the steps. More steps may help."};
  return {Mood::good, question,
          "Yes: " + fall + ", and levelled off: the last quarter of the steps brought " +
              percent(std::max(share, 0.0)) + " of that fall."};
}

// The value nearest to a step, at it or before it; the first one where there is none.
double value_at(const Series& series, int64_t step) {
  double value = series.front().value;
  for (const FigureAt& one : series)
    if (one.step <= step) value = one.value;
  return value;
}

Finding judge_overfitting(const ReadRun& run) {
  const std::string question = "Did it overfit?";
  const std::string figure = find_validation_loss(run);
  if (figure.empty()) return {Mood::neutral, question, "Unknown: nothing was validated."};
  const Series validation = collect(run, figure, false), training = collect_training_loss(run);
  const auto best = run.best(figure);
  if (validation.size() < 2 || training.empty() || !best)
    return {Mood::neutral, question, "Unknown: the history has too few values of " + figure + "."};
  const FigureAt last = validation.back();
  const double rise = (last.value - best->value) / std::fabs(best->value);
  const bool is_at_end = static_cast<double>(last.step - best->step) <= kNearEnd * static_cast<double>(last.step);
  const double train_then = value_at(training, best->step), train_now = training.back().value;
  const std::string gap = " At the end train/loss is " + print_short_number(train_now) + " and " + figure + " " +
                          print_short_number(last.value) + ".";
  if (is_at_end || rise <= kRisen)
    return {Mood::good, question,
            "No sign of it: " + figure + " was best with " + at_step(*best) + ", and " +
                (is_at_end ? "that is near the end." : "is at most " + percent(kRisen) + " above that at the end.") +
                gap};
  if (train_now < train_then)
    return {Mood::bad, question,
            "Yes, from about step " + std::to_string(best->step) + " on: since then " + figure + " has risen from " +
                print_short_number(best->value) + " to " + print_short_number(last.value) + " (" + percent(rise) +
                "), while train/loss went on falling, from " + print_short_number(train_then) + " to " +
                print_short_number(train_now) + "."};
  return {Mood::bad, question,
          "Something else: " + figure + " has risen from " + at_step(*best) + " to " + print_short_number(last.value) +
              ", but train/loss has not fallen since either (" + print_short_number(train_then) + ", now " +
              print_short_number(train_now) + "). A learning rate that is too high does that."};
}

Finding judge_time(const ReadRun& run) {
  const std::string question = "What took the time?";
  const std::vector<pipeline::StageSeconds> stages = run.stages();
  if (stages.empty())
    return {Mood::neutral, question,
            "Unknown: a run writes it down when it ends, and this one has not, or was killed."};
  double total = 0;
  for (const pipeline::StageSeconds& one : stages) total += one.seconds;
  std::string text;
  for (const pipeline::StageSeconds& one : stages)
    text += (text.empty() ? "" : ", ") + one.name + " " + percent(one.seconds / total);
  const std::string advice = pipeline::advise(stages, run.planned("data.workers"));
  return {advice.empty() ? Mood::neutral : Mood::bad, question,
          "Mostly " + stages.front().name + ": of " + callbacks::format_duration(total) + ", " + text + "." +
              (advice.empty() ? "" : " In short, " + advice + ".")};
}

std::optional<Finding> find_not_finite(const ReadRun& run) {
  int64_t lines = 0;
  std::string first;
  for (const HistoryLine& line : run.history())
    for (const auto& [name, value] : line.figures) {
      if (std::isfinite(value)) continue;
      if (lines++ == 0) first = name + " at step " + std::to_string(line.step);
    }
  if (lines == 0) return std::nullopt;
  return Finding{Mood::bad, "Was everything finite?",
                 "No: " + std::to_string(lines) + " values are NaN or infinite, the first of them " + first + "."};
}

Finding describe_end(const ReadRun& run) {
  const std::string question = "How did it end?";
  const std::string reason = run.text("reason").empty() ? "" : " (" + run.text("reason") + ")";
  const std::string place = "epoch " + std::to_string(run.epoch()) + ", step " + std::to_string(run.step());
  if (run.state() == "finished") return {Mood::good, question, "It finished, after " + place + reason + "."};
  if (run.state() == "failed") return {Mood::bad, question, "It failed, after " + place + reason + "."};
  if (run.state() == "stopped") return {Mood::neutral, question, "It was stopped, after " + place + reason + "."};
  if (run.state() == "running")
    return {Mood::neutral, question, "Not yet: it is running, and has come to " + place + "."};
  return {Mood::bad, question,
          "It was interrupted, after " + place + ": nothing says that it ended, and no process trains in its folder."};
}

}  // namespace

std::vector<Finding> find_findings(const ReadRun& run) {
  std::vector<Finding> findings{describe_end(run), judge_convergence(run), judge_overfitting(run), judge_time(run)};
  if (auto beginning = judge_beginning(run)) findings.insert(findings.begin() + 1, std::move(*beginning));
  if (auto not_finite = find_not_finite(run)) findings.push_back(std::move(*not_finite));
  return findings;
}

}  // namespace tenon::host

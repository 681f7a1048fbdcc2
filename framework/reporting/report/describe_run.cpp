#include "framework/reporting/report/describe_run.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::reporting {

namespace {

using artifacts::format_short_number;
using artifacts::Hyperparameters;

// Returns "3 of 10 epochs" or "1 epoch". `planned`: 0 if it is not known.
std::string count_of(int64_t done, int64_t planned, const char* unit) {
  const int64_t last = planned > 0 ? planned : done;
  return fmt::format("{}{} {}{}", group_digits(done), planned > 0 ? " of " + group_digits(planned) : "", unit,
                     last == 1 ? "" : "s");
}

const char* rating_of(const ReadRun& run) {
  if (run.state() == "finished") return "good";
  return run.state() == "failed" || run.state() == "crashed" ? "bad" : "neutral";
}

constexpr size_t kMaxValues = 3;

// Lists the keys with different values in the runs.
std::vector<std::string> find_different(const std::vector<Hyperparameters>& all) {
  std::set<std::string> keys;
  for (const Hyperparameters& values : all)
    for (const auto& [key, value] : values) keys.insert(key);
  std::vector<std::string> different;
  for (const std::string& key : keys) {
    const auto value_in = [&](const Hyperparameters& values) {
      const auto found = values.find(key);
      return found == values.end() ? std::nullopt : std::optional(found->second);
    };
    if (std::ranges::count(all, value_in(all.front()), value_in) < std::ssize(all)) different.push_back(key);
  }
  return different;
}

// "lr" for optimizer.lr, unless another key ends in the same way.
std::string shorten(const std::string& key, const std::vector<std::string>& keys) {
  const auto last = [](const std::string& text) { return text.substr(text.rfind('.') + 1); };
  return std::ranges::count(keys, last(key), last) > 1 ? key : last(key);
}

std::string format_values(const Hyperparameters& values, const std::vector<std::string>& keys) {
  std::string text;
  for (const std::string& key : keys)
    if (const auto found = values.find(key); found != values.end())
      text += (text.empty() ? "" : ", ") + shorten(key, keys) + "=" + artifacts::format_hyperparameter(found->second);
  return text;
}

// Adds the times of runs with the same label, and their numbers if the times are the same.
void make_different(const std::vector<ReadRun>& runs, std::vector<RunLabel>& labels) {
  for (const bool by_time : {true, false}) {
    std::map<std::string, size_t> counts;
    for (const RunLabel& label : labels) ++counts[label.text()];
    for (size_t i = 0; i < labels.size(); ++i) {
      if (counts[labels[i].text()] == 1) continue;
      const std::string name = runs[i].name();  // "digits/2026-11-21T11-30-05"
      const std::string added = by_time ? name.substr(name.find('/') + 1) : fmt::format("run {}", i + 1);
      labels[i].repetition += (labels[i].repetition.empty() ? "" : ", ") + added;
    }
  }
}

double deviation_of(const std::vector<double>& values) {
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  const double deviation = std::sqrt(sum / static_cast<double>(values.size() - 1));
  constexpr double kRounding = 1e-14;  // of equal values
  return deviation > kRounding * std::fabs(mean) ? deviation : 0;
}

}  // namespace

std::string describe_place(const ReadRun& run) {
  return count_of(run.epoch(), run.planned("train.epochs"), "epoch") + ", " +
         count_of(run.step(), run.planned("train.steps"), "step");
}

std::string describe_length(const ReadRun& run) {
  const int64_t epochs = run.planned("train.epochs");
  return epochs > 0 ? count_of(run.epoch(), epochs, "epoch") : count_of(run.step(), run.planned("train.steps"), "step");
}

std::string format_local_time(const std::string& iso) {
  constexpr size_t kDate = 10, kTime = 8;
  const bool is_time = artifacts::parse_iso_8601(iso).has_value();
  return is_time ? iso.substr(0, kDate) + " " + iso.substr(kDate + 1, kTime) : iso;
}

std::string describe_device(const ReadRun& run) {
  std::string device = run.text("device");
  if (const auto used = run.record().find("accelerator"); used != run.record().end() && !text_in(*used, "name").empty())
    device = text_in(*used, "name");
  const int64_t processes = std::max<int64_t>(run.planned("distributed.processes"), 1);
  return device + ", " + support::format_count(processes, "process", "processes");
}

std::string name_of(const ReadRun& run) { return run.name().substr(0, run.name().find('/')); }

std::string describe_time(const ReadRun& run) {
  const std::string start = format_local_time(run.text("start"));
  return start.empty() ? run.folder().root.filename().string() : start;
}

std::string describe_best(const ReadRun& run) {
  const auto best = run.best(run.monitor());
  return best ? fmt::format("{} at step {}", format_short_number(best->value), best->step) : "";
}

std::string describe_last(const ReadRun& run, const std::string& metric) {
  const auto last = run.last(metric);
  return last ? format_short_number(last->value) : "";
}

std::string format_state(const ReadRun& run) {
  return text_element("span", std::string("class=\"state ") + rating_of(run) + "\"", run.state());
}

bool is_repetition(const std::string& key) { return key == "run.seed" || key == "data.folds.fold"; }

std::vector<Hyperparameters> read_values(const std::vector<ReadRun>& runs) {
  std::vector<Hyperparameters> values;
  for (const ReadRun& run : runs)
    values.push_back(artifacts::find_hyperparameters(run.plan(), run.folder().plan_file().string()));
  return values;
}

std::vector<RunLabel> label_runs(const std::vector<ReadRun>& runs, const std::vector<std::string>& variants) {
  TENON_CHECK(variants.empty() || variants.size() == runs.size(), variants.size() << " names, " << runs.size());
  const std::vector<Hyperparameters> all = read_values(runs);
  std::vector<std::string> varied, repeated;
  for (const std::string& key : find_different(all)) (is_repetition(key) ? repeated : varied).push_back(key);
  std::vector<RunLabel> labels;
  std::map<std::string, size_t> numbers;
  for (size_t i = 0; i < runs.size(); ++i) {
    const bool has_values = variants.empty() && !varied.empty() && varied.size() <= kMaxValues;
    RunLabel label{has_values ? format_values(all[i], varied) : "", format_values(all[i], repeated), 0};
    if (!variants.empty()) label.variant = variants[i];
    if (label.variant.empty()) label.variant = name_of(runs[i]);
    label.number = numbers.emplace(label.variant, numbers.size()).first->second;
    labels.push_back(std::move(label));
  }
  make_different(runs, labels);
  return labels;
}

double mean_of(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::string describe_best_variant(const std::string& metric, bool is_larger_better,
                                  std::vector<VariantValues> variants) {
  for (VariantValues& one : variants) std::erase_if(one.values, [](double value) { return !std::isfinite(value); });
  std::erase_if(variants, [](const VariantValues& one) { return one.values.empty(); });
  if (variants.size() < 2) return "";
  std::ranges::stable_sort(variants, {}, [&](const VariantValues& one) {
    return is_larger_better ? -mean_of(one.values) : mean_of(one.values);
  });
  const VariantValues &best = variants[0], &next = variants[1];
  const double distance = std::fabs(mean_of(best.values) - mean_of(next.values));
  std::string text = fmt::format("best {}: {}, {:.4g}, {:.2g} better than {}; ", metric, best.variant,
                                 mean_of(best.values), distance, next.variant);
  constexpr size_t kFewest = 3;  // runs that have a useful deviation
  if (std::min(best.values.size(), next.values.size()) < kFewest)
    return text + "with fewer than three runs of each, it may be chance";
  const auto variance_of_mean = [](const std::vector<double>& values) {
    const double deviation = deviation_of(values);
    return deviation * deviation / static_cast<double>(values.size());
  };
  const double error = std::sqrt(variance_of_mean(best.values) + variance_of_mean(next.values));
  return text + fmt::format("that is {} than twice the standard error of the difference, {:.2g}{}",
                            distance > 2 * error ? "more" : "less", error,
                            distance > 2 * error ? "" : ", so it may be chance");
}

std::string format_spread(const std::vector<double>& values) {
  if (values.size() < 2) return fmt::format("{:.4g}", values.front());
  return fmt::format("{:.4g} ± {:.2g}", mean_of(values), deviation_of(values));
}

}  // namespace tenon::reporting

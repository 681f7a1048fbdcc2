#include "framework/reporting/report/run_labels.h"

#include <algorithm>
#include <map>
#include <set>

#include "framework/artifacts/run_folder/hyperparameters.h"
#include "framework/support/diagnostics/check.h"

namespace tenon::reporting {

namespace {

using artifacts::Hyperparameters;

constexpr size_t kMaxValues = 3;

std::vector<Hyperparameters> read_values(const std::vector<ReadRun>& runs) {
  std::vector<Hyperparameters> values;
  for (const ReadRun& run : runs)
    values.push_back(artifacts::find_hyperparameters(run.plan(), run.folder().plan_file().string()));
  return values;
}

// Lists the keys with different values in the runs.
std::vector<std::string> find_different(const std::vector<Hyperparameters>& all) {
  std::set<std::string> keys;
  for (const Hyperparameters& values : all)
    for (const auto& [key, value] : values) keys.insert(key);
  std::vector<std::string> different;
  for (const std::string& key : keys) {
    const auto first = all.front().find(key);
    const auto is_other = [&](const Hyperparameters& values) {
      const auto found = values.find(key);
      if (found == values.end() || first == all.front().end())
        return (found == values.end()) != (first == all.front().end());
      return found->second != first->second;
    };
    if (std::ranges::any_of(all, is_other)) different.push_back(key);
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

// The first part of "digits/2026-11-21T11-30-05", or the second one.
std::string name_of(const ReadRun& run, bool by_time) {
  const std::string name = run.name();
  const size_t slash = name.find('/');
  return by_time ? name.substr(slash + 1) : name.substr(0, slash);
}

// Adds the times of runs with the same label, and their numbers if the times are the same.
void make_different(const std::vector<ReadRun>& runs, std::vector<RunLabel>& labels) {
  for (const bool by_time : {true, false}) {
    std::map<std::string, size_t> counts;
    for (const RunLabel& label : labels) ++counts[label.text()];
    for (size_t i = 0; i < labels.size(); ++i) {
      if (counts[labels[i].text()] == 1) continue;
      const std::string added = by_time ? name_of(runs[i], true) : "run " + std::to_string(i + 1);
      labels[i].repetition += (labels[i].repetition.empty() ? "" : ", ") + added;
    }
  }
}

}  // namespace

bool is_repetition(const std::string& key) { return key == "run.seed" || key == "data.folds.fold"; }

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
    if (label.variant.empty()) label.variant = name_of(runs[i], false);
    label.number = numbers.emplace(label.variant, numbers.size()).first->second;
    labels.push_back(std::move(label));
  }
  make_different(runs, labels);
  return labels;
}

}  // namespace tenon::reporting

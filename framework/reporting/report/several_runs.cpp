#include "framework/reporting/report/report_sections.h"

#include <algorithm>
#include <functional>
#include <optional>
#include <set>

#include "framework/callbacks/progress.h"
#include "framework/reporting/report/describe_run.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format_values.h"

namespace tenon::reporting {

namespace {

using artifacts::Hyperparameters;

// Returns the metric that all runs monitor, or "" if they monitor several ones or none.
std::string find_common_monitor(const std::vector<ReadRun>& runs) {
  const std::string monitor = runs.front().monitor();
  const bool is_common = std::ranges::all_of(runs, [&](const ReadRun& run) { return run.monitor() == monitor; });
  return is_common ? monitor : "";
}

std::string format_runs_table(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels) {
  const std::string monitor = find_common_monitor(runs);
  // A value that all runs share has no column.
  const bool has_model =
      std::ranges::any_of(runs, [&](const ReadRun& run) { return run.model() != runs.front().model(); });
  std::string rows =
      table_row("<th>run</th><th>state</th>" + std::string(has_model ? "<th>model</th>" : "") +
                "<th>trained until</th><th class=\"number\">time</th>" +
                text_element("th", "", monitor.empty() ? "best" : "best " + format_title(monitor)) +
                "<th class=\"number\">train loss</th><th class=\"number\">validation loss</th><th>started</th>");
  for (size_t i = 0; i < runs.size(); ++i) {
    const ReadRun& run = runs[i];
    const std::string best = describe_best(run);
    rows += "\n" +
            table_row(key_cell(labels[i].number, labels[i].text()) + element("td", "", format_state(run)) +
                      (has_model ? table_cell(run.model()) : "") + table_cell(describe_length(run)) +
                      number_cell(callbacks::format_elapsed(run.seconds())) +
                      table_cell(best.empty() || !monitor.empty() ? best : format_title(run.monitor()) + " " + best) +
                      number_cell(describe_last(run, "train/loss")) +
                      number_cell(describe_last(run, "validation/loss")) + table_cell(describe_time(run)));
  }
  return wide_table("class=\"runs\"", rows) + "\n";
}

// Returns the last value of the metric up to the best validation, or up to the end if no metric is monitored.
std::optional<double> find_best_value(const ReadRun& run, const std::string& metric) {
  const auto best = run.best(run.monitor());
  std::optional<double> found;
  for (const artifacts::HistoryLine& line : run.history())
    for (const auto& [name, value] : line.metrics)
      if (name == metric && (!best || line.step <= best->step)) found = value;
  return found;
}

struct MeanColumn {
  std::string title;
  std::function<std::optional<double>(const ReadRun&)> read;
  std::function<std::string(const std::vector<double>&)> print;
};

std::vector<MeanColumn> list_mean_columns(const std::vector<ReadRun>& runs) {
  constexpr size_t kMaxColumns = 8;  // of metrics
  std::vector<MeanColumn> columns;
  std::set<std::string> known;
  const auto add = [&](const std::string& metric) {
    if (columns.size() < kMaxColumns && !metric.empty() && known.insert(metric).second)
      columns.push_back(
          {format_title(metric), [metric](const ReadRun& run) { return find_best_value(run, metric); }, format_spread});
  };
  for (const ReadRun& run : runs) add(run.monitor());
  for (const ReadRun& run : runs)
    for (const std::string& metric : run.metrics())
      if (metric.starts_with("validation/") || metric == "train/loss") add(metric);
  columns.push_back({"time", [](const ReadRun& run) { return std::optional(run.seconds()); },
                     [](const std::vector<double>& values) { return callbacks::format_elapsed(mean_of(values)); }});
  return columns;
}

// The names of the variants by their numbers.
std::vector<std::string> name_variants(const std::vector<RunLabel>& labels) {
  std::vector<std::string> names;
  for (const RunLabel& label : labels) {
    if (names.size() <= label.number) names.resize(label.number + 1);
    names[label.number] = label.variant;
  }
  return names;
}

// The mean and the deviation over the runs of each variant, if there are repeated ones.
std::string format_means(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels) {
  const size_t variants = name_variants(labels).size();
  if (variants == runs.size()) return "";
  const std::vector<MeanColumn> columns = list_mean_columns(runs);
  const std::string monitor = find_common_monitor(runs);
  std::vector<VariantValues> monitored;
  std::string rows = "<th>variant</th><th class=\"number\">runs</th>";
  for (const MeanColumn& column : columns) rows += text_element("th", "class=\"number\"", column.title);
  rows = table_row(rows);
  for (size_t variant = 0; variant < variants; ++variant) {
    std::vector<const ReadRun*> repeated;
    std::string name;
    for (size_t i = 0; i < runs.size(); ++i) {
      if (labels[i].number != variant) continue;
      repeated.push_back(&runs[i]);
      name = labels[i].variant;
    }
    const auto failed = std::ranges::count_if(repeated, [](const ReadRun* run) { return run->has_failed(); });
    std::vector<double>& best_values = monitored.emplace_back(name).values;
    for (const ReadRun* const run : repeated)
      if (const auto value = find_best_value(*run, monitor); value && !run->has_failed()) best_values.push_back(*value);
    std::string cells = key_cell(variant, name) + number_cell(std::to_string(std::ssize(repeated) - failed) +
                                                              (failed > 0 ? fmt::format(" ({} failed)", failed) : ""));
    for (const MeanColumn& column : columns) {
      std::vector<double> values;
      for (const ReadRun* const run : repeated)
        if (const auto value = column.read(*run); value && !run->has_failed()) values.push_back(*value);
      cells += number_cell(values.empty() ? "" : column.print(values));
    }
    rows += "\n" + table_row(cells);
  }
  const bool is_larger_better = runs.front().direction(monitor) > 0;
  const std::string best =
      monitor.empty() ? "" : describe_best_variant(format_title(monitor), is_larger_better, std::move(monitored));
  return section("Mean and standard deviation",
                 wide_table("class=\"runs\"", rows) + "\n" +
                     (best.empty() ? "" : text_element("p", "", "B" + best.substr(1) + ".") + "\n") +
                     quiet_line("Metrics of the best validation of each run, or of the last one if no metric is "
                                "monitored."));
}

// Whether the runs of each variant are repetitions: they have the same values apart from seeds and folds.
bool are_repetitions(const std::vector<Hyperparameters>& all, const std::vector<RunLabel>& labels) {
  std::vector<std::optional<Hyperparameters>> known(labels.size());  // by the number of the variant
  for (size_t i = 0; i < all.size(); ++i) {
    Hyperparameters values = all[i];
    std::erase_if(values, [](const auto& value) { return is_repetition(value.first); });
    std::optional<Hyperparameters>& of_variant = known[labels[i].number];
    if (of_variant && *of_variant != values) return false;
    of_variant = std::move(values);
  }
  return true;
}

// Prints the values that differ between the plans. Repetitions share the column of their variant.
std::string format_differences(const std::vector<ReadRun>& runs, std::vector<RunLabel> labels) {
  const std::vector<Hyperparameters> all = read_values(runs);
  std::set<std::string> keys;
  for (const Hyperparameters& values : all)
    for (const auto& [key, value] : values) keys.insert(key);
  if (!are_repetitions(all, labels))
    for (size_t i = 0; i < labels.size(); ++i) labels[i] = {labels[i].text(), "", i};
  const std::vector<std::string> names = name_variants(labels);
  std::string rows;
  for (const std::string& key : keys) {
    std::set<std::string> different;
    std::vector<std::vector<std::string>> columns(names.size());
    for (size_t i = 0; i < all.size(); ++i) {
      const auto found = all[i].find(key);
      const std::string value = found == all[i].end() ? "missing" : artifacts::format_hyperparameter(found->second);
      different.insert(value);
      std::vector<std::string>& column = columns[labels[i].number];
      if (std::ranges::find(column, value) == column.end()) column.push_back(value);
    }
    if (different.size() == 1) continue;
    std::string cells = text_element("th", "", key);
    for (const std::vector<std::string>& column : columns) {
      std::string shown;
      for (const std::string& value : column) shown += (shown.empty() ? "" : ", ") + value;
      cells += table_cell(shown);
    }
    rows += table_row(cells) + "\n";
  }
  if (rows.empty()) return section("What differs", text_element("p", "", "Nothing that affects the metrics.") + "\n");
  std::string heads = "<th></th>";
  for (const std::string& name : names) heads += text_element("th", "", name);
  return section("What differs",
                 element("div", "class=\"wide\"", element("table", "", "\n" + table_row(heads) + "\n" + rows)) + "\n");
}

std::string format_findings_of(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels) {
  std::string text;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::string items;
    for (const Finding& finding : find_findings(runs[i]))
      items += text_element("li", "", finding.question + " " + finding.answer) + "\n";
    text +=
        element("details", "", text_element("summary", "", labels[i].text()) + "\n" + element("ul", "", "\n" + items)) +
        "\n";
  }
  return section("Single runs", text);
}

}  // namespace

std::string count_runs(const std::vector<RunLabel>& labels) {
  const auto variants = static_cast<int64_t>(name_variants(labels).size()), runs = static_cast<int64_t>(labels.size());
  return (variants == runs ? "" : support::format_count(variants, "variant") + ", ") +
         support::format_count(runs, "run");
}

std::string format_several_runs(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels,
                                const std::string& charts) {
  return element("header", "class=\"several\"", "\n" + text_element("h1", "", count_runs(labels)) + "\n") + "\n" +
         format_runs_table(runs, labels) + format_means(runs, labels) + format_differences(runs, labels) + charts +
         format_findings_of(runs, labels);
}

}  // namespace tenon::reporting

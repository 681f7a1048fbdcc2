#include "framework/reporting/comparison/comparison_table.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>

#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/callbacks/progress.h"
#include "framework/reporting/report/describe_run.h"
#include "framework/reporting/runs/read_run.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/printable.h"
#include "framework/support/text/terminal.h"

namespace tenon::reporting {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using Read = std::function<std::optional<double>(const MeasuredRun&)>;
using Print = std::function<std::string(const std::vector<double>&)>;

struct Column {
  std::string title;
  Read read;
  Print print;
};

std::optional<double> find_metric(const MeasuredRun& run, const std::string& name) {
  for (const auto& [known, value] : run.metrics)
    if (known == name) return value;
  return std::nullopt;
}

std::string format_max_bytes(const std::vector<double>& values) {
  return support::format_bytes(static_cast<uint64_t>(*std::ranges::max_element(values)));
}

std::string format_seconds(const std::vector<double>& values) { return callbacks::format_elapsed(mean_of(values)); }

std::string format_rate(const std::vector<double>& values) {
  const double mean = mean_of(values);
  return mean >= 100 ? group_digits(std::llround(mean)) : fmt::format("{:.3g}", mean);
}

bool is_good(const MeasuredRun& run) { return run.failure.empty(); }

// Lists the monitored metrics first, then the others in the order of the histories.
std::vector<std::string> list_metrics(const std::vector<ComparedVariant>& variants) {
  std::vector<std::string> names;
  const auto add = [&](const std::string& name) {
    if (!name.empty() && std::ranges::find(names, name) == names.end()) names.push_back(name);
  };
  for (const ComparedVariant& compared : variants) add(compared.monitor);
  for (const ComparedVariant& compared : variants)
    for (const MeasuredRun& run : compared.runs)
      for (const auto& [name, value] : run.metrics) add(name);
  return names;
}

std::vector<Column> list_columns(const std::vector<ComparedVariant>& variants) {
  std::vector<Column> columns;
  for (const std::string& name : list_metrics(variants))
    columns.push_back({name, [name](const MeasuredRun& run) { return find_metric(run, name); }, format_spread});
  columns.push_back({"train/loss", [](const MeasuredRun& run) { return run.train_loss; }, format_spread});
  columns.push_back({"time", [](const MeasuredRun& run) { return std::optional(run.seconds); }, format_seconds});
  columns.push_back(
      {"time/epoch",
       [](const MeasuredRun& run) { return run.epochs > 0 ? std::optional(run.seconds / run.epochs) : std::nullopt; },
       format_seconds});
  columns.push_back(
      {"samples/s",
       [](const MeasuredRun& run) { return run.seconds > 0 ? std::optional(run.samples / run.seconds) : std::nullopt; },
       format_rate});
  columns.push_back({"memory",
                     [](const MeasuredRun& run) {
                       return run.peak_bytes > 0 ? std::optional(static_cast<double>(run.peak_bytes)) : std::nullopt;
                     },
                     format_max_bytes});
  columns.push_back({"device memory",
                     [](const MeasuredRun& run) {
                       return run.device_peak_mib ? std::optional(*run.device_peak_mib * 1024 * 1024) : std::nullopt;
                     },
                     format_max_bytes});
  return columns;
}

std::vector<double> read_values(const ComparedVariant& compared, const Column& column) {
  std::vector<double> values;
  for (const MeasuredRun& run : compared.runs)
    if (is_good(run))
      if (const auto value = column.read(run)) values.push_back(*value);
  return values;
}

// The first row has the titles. Columns without any value are omitted.
std::vector<std::vector<std::string>> list_rows(const std::vector<ComparedVariant>& variants) {
  std::vector<std::vector<std::string>> rows(variants.size() + 1);
  rows[0].push_back("");
  for (size_t i = 0; i < variants.size(); ++i) {
    const auto& runs = variants[i].runs;
    const auto failed = std::ranges::count_if(runs, [](const MeasuredRun& run) { return !is_good(run); });
    rows[i + 1].push_back(variants[i].variant.name + (failed > 0 ? " (" + std::to_string(failed) + " failed)" : ""));
  }
  for (const Column& column : list_columns(variants)) {
    std::vector<std::string> cells;
    for (const ComparedVariant& compared : variants) {
      const std::vector<double> values = read_values(compared, column);
      cells.push_back(values.empty() ? "" : column.print(values));
    }
    if (std::ranges::all_of(cells, &std::string::empty)) continue;
    rows[0].push_back(column.title);
    for (size_t i = 0; i < cells.size(); ++i) rows[i + 1].push_back(cells[i]);
  }
  return rows;
}

// A line that names the best variant by the metric that all monitor. "" if there is none.
std::string name_best(const std::vector<ComparedVariant>& variants, const std::string& margin) {
  const std::string& metric = variants.front().monitor;
  std::vector<VariantValues> all;
  bool is_larger_better = false;
  for (const ComparedVariant& compared : variants) {
    if (compared.monitor != metric) return "";
    std::vector<double>& values = all.emplace_back(compared.variant.name).values;
    for (const MeasuredRun& run : compared.runs) {
      if (!is_good(run)) continue;
      if (const auto value = find_metric(run, metric)) values.push_back(*value);
      is_larger_better |= run.is_larger_better;
    }
  }
  const std::string best = metric.empty() ? "" : describe_best_variant(metric, is_larger_better, std::move(all));
  return best.empty() ? "" : margin + best + "\n";
}

std::string describe_run(const ComparedVariant& compared, const MeasuredRun& run) {
  return compared.variant.name + ", seed " + std::to_string(run.seed) +
         (run.fold ? ", fold " + std::to_string(*run.fold) : "");
}

// Each reason once, with the first run that it ended and the number of the others.
std::string list_failures(const std::vector<ComparedVariant>& variants, const std::string& margin) {
  struct Failure {
    std::string run, reason;
    int64_t others = 0;
  };
  std::vector<Failure> failures;
  for (const ComparedVariant& compared : variants)
    for (const MeasuredRun& run : compared.runs) {
      if (is_good(run)) continue;
      const auto known = std::ranges::find(failures, run.failure, &Failure::reason);
      if (known == failures.end())
        failures.push_back({describe_run(compared, run), run.failure});
      else
        ++known->others;
    }
  std::string text;
  for (const auto& [run, reason, others] : failures)
    text += fmt::format("{}{}{}: {}\n", margin, run,
                        others == 0 ? "" : " and " + support::format_count(others, "more run", "more runs"), reason);
  return text;
}

// What the table shows of a variant with several runs, as a line. "" if there are none.
std::string explain_spread(const std::vector<ComparedVariant>& variants, const std::string& margin) {
  std::set<int64_t> seeds, folds;
  bool has_several = false;
  for (const ComparedVariant& compared : variants) {
    has_several = has_several || std::ranges::count_if(compared.runs, is_good) > 1;
    for (const MeasuredRun& run : compared.runs) {
      seeds.insert(run.seed);
      if (run.fold) folds.insert(*run.fold);
    }
  }
  if (!has_several) return "";
  std::vector<std::string> repeated;
  if (seeds.size() > 1) repeated.push_back(fmt::format("{} seeds", seeds.size()));
  if (folds.size() > 1) repeated.push_back(fmt::format("{} folds", folds.size()));
  return fmt::format("{}mean ± sample standard deviation over {}\n", margin, join(repeated, " and "));
}

Json to_json(const MeasuredRun& run) {
  Json json{{"seed", run.seed},
            {"fold", run.fold ? Json(*run.fold) : Json()},
            {"folder", run.folder.string()},
            {"exit_code", run.exit_code},
            {"failure", run.failure.empty() ? Json() : Json(run.failure)},
            {"steps", run.steps},
            {"epochs", run.epochs},
            {"samples", run.samples},
            {"seconds", run.seconds},
            {"peak_bytes", run.peak_bytes},
            {"device_peak_mib", run.device_peak_mib ? Json(*run.device_peak_mib) : Json()},
            {"best_step", run.best_step ? Json(*run.best_step) : Json()},
            {"train/loss", run.train_loss ? Json(*run.train_loss) : Json()},
            {"metrics", Json::object()}};
  for (const auto& [name, value] : run.metrics)
    json["metrics"][name] = Json::parse(artifacts::format_json_number(value));
  return json;
}

// Returns the last line that is not empty, which is the host's error message.
std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of("\n ");
  if (end == text.npos) return "";
  const size_t start = text.rfind('\n', end) + 1;  // 0 for the first line: npos + 1
  return text.substr(start, end + 1 - start);
}

void add_metric(const std::pair<std::string, double>& metric, artifacts::NamedMetrics& metrics) {
  const auto known = std::ranges::find(metrics, metric.first, &std::pair<std::string, double>::first);
  if (known == metrics.end())
    metrics.push_back(metric);
  else
    known->second = metric.second;
}

// Finds the step of the best validation, as the page does.
void read_best(const fs::path& folder, MeasuredRun& measured) {
  try {
    const ReadRun run(folder);
    if (const auto best = run.best(run.monitor())) measured.best_step = best->step;
    measured.is_larger_better = run.direction(run.monitor()) > 0;
  } catch (const support::Error&) {  // it failed early
  }
}

// Returns the last value of each validation metric up to `step`, and the metrics of the test data.
artifacts::NamedMetrics collect_metrics(const std::vector<artifacts::HistoryLine>& history,
                                        std::optional<int64_t> step) {
  artifacts::NamedMetrics metrics;
  for (const artifacts::HistoryLine& line : history) {
    const bool is_test = line.event == artifacts::HistoryEvent::test;
    const bool is_validation = line.event == artifacts::HistoryEvent::validation && (!step || line.step <= *step);
    for (const auto& metric : line.metrics)
      if (is_test || (is_validation && metric.first.starts_with("validation"))) add_metric(metric, metrics);
  }
  return metrics;
}

void read_lines(const std::vector<artifacts::HistoryLine>& history, MeasuredRun& run) {
  for (const artifacts::HistoryLine& line : history) {
    run.steps = std::max(run.steps, line.step);
    run.seconds = std::max(run.seconds, line.time_s);
    for (const auto& [name, value] : line.metrics) {
      if (name == "train/loss" && (!run.best_step || line.step <= *run.best_step)) run.train_loss = value;
      if (name == "train/device_memory_mib") run.device_peak_mib = std::max(run.device_peak_mib.value_or(0), value);
    }
  }
}

// Reads the peak memory from run.json. Returns 0 if run.json is missing or the run was killed.
int64_t read_peak(const fs::path& record) {
  const auto json = nlohmann::json::parse(support::read_text(record), nullptr, /*allow_exceptions=*/false);
  const auto peak = json.find("peak_bytes");
  return peak != json.end() && peak->is_number_integer() ? peak->get<int64_t>() : 0;
}

}  // namespace

std::string format_table(const std::vector<ComparedVariant>& variants, size_t width, bool has_colours) {
  const auto rows = list_rows(variants);
  TextTable table("l" + std::string(rows[0].size() - 1, 'r'));
  for (const auto& row : rows) table.add(row);
  // The time comes before the other metrics than the first one.
  std::vector<size_t> importance(rows[0].size());
  std::iota(importance.begin(), importance.end(), 0);
  if (const auto time = std::ranges::find(rows[0], "time"); time - rows[0].begin() > 2)
    std::rotate(importance.begin() + 2, importance.begin() + (time - rows[0].begin()),
                importance.begin() + (time - rows[0].begin()) + 1);
  return table.format_within(width, importance, has_colours) + explain_spread(variants, "") +
         support::wrap_lines(support::escape_control_characters(name_best(variants, "")), width) +
         support::escape_control_characters(list_failures(variants, ""));
}

std::string format_markdown(const std::vector<ComparedVariant>& variants) {
  const auto rows = list_rows(variants);
  std::string text;
  for (size_t i = 0; i < rows.size(); ++i) {
    text += "|";
    for (const std::string& cell : rows[i]) text += " " + cell + " |";
    text += "\n";
    if (i > 0) continue;
    text += "|---|";
    for (size_t k = 1; k < rows[0].size(); ++k) text += "---:|";
    text += "\n";
  }
  const std::string spread = explain_spread(variants, "\n") + name_best(variants, "\n");
  const std::string failures = list_failures(variants, "- ");
  return text + spread + (failures.empty() ? "" : "\n" + failures);
}

std::string format_json(const std::vector<ComparedVariant>& variants) {
  Json json = Json::array();
  for (const ComparedVariant& compared : variants) {
    Json one{{"name", compared.variant.name},
             {"config", compared.variant.config.string()},
             {"overrides", compared.variant.overrides},
             {"monitor", compared.monitor.empty() ? Json() : Json(compared.monitor)},
             {"runs", Json::array()}};
    for (const MeasuredRun& run : compared.runs) one["runs"].push_back(to_json(run));
    json.push_back(std::move(one));
  }
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

MeasuredRun measure_run(int exit_code, const std::string& errors, const fs::path& folder, const EpochSize& epoch) {
  MeasuredRun run;
  run.folder = folder;
  run.exit_code = exit_code;
  if (exit_code != 0) run.failure = fmt::format("exit code {}: {}", exit_code, last_line(errors));
  if (folder.empty()) return run;
  run.peak_bytes = read_peak(artifacts::RunFolder{folder}.record_file());
  const auto history = read_history_so_far(artifacts::RunFolder{folder}.history_jsonl());
  if (history.empty()) return run;  // the run failed before its first line
  read_best(folder, run);
  read_lines(history, run);
  run.epochs = static_cast<double>(run.steps) / static_cast<double>(epoch.steps);
  run.samples = run.epochs * static_cast<double>(epoch.samples);
  run.metrics = collect_metrics(history, run.best_step);
  return run;
}

}  // namespace tenon::reporting

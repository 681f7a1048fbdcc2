// `host runs`: lists the runs in a folder.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <limits>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/callbacks/progress.h"
#include "framework/formats/nearest_name.h"
#include "framework/reporting/runs/read_run.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/terminal.h"
#include "host/command_line/command.h"

namespace tenon::host {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using callbacks::format_metric;

// Sorts the newest run first. The names of the folders order the runs of one run.name, as for `--resume auto`. The
// start times in run.json order runs of different names. A clock that was ahead makes them wrong, so a run counts as no
// older than the earlier runs of its name.
void sort_newest_first(std::vector<reporting::ReadRun>& runs) {
  std::ranges::stable_sort(runs, [](const reporting::ReadRun& a, const reporting::ReadRun& b) {
    const fs::path &one = a.folder().root, &other = b.folder().root;
    const int order = one.parent_path().compare(other.parent_path());
    return order != 0 ? order < 0 : artifacts::is_earlier_run(one, other);
  });
  std::vector<std::pair<std::chrono::sys_seconds, reporting::ReadRun>> dated;
  for (reporting::ReadRun& run : runs) {
    auto start = artifacts::parse_iso_8601(run.text("start")).value_or(std::chrono::sys_seconds());
    const bool has_earlier =
        !dated.empty() && dated.back().second.folder().root.parent_path() == run.folder().root.parent_path();
    if (has_earlier) start = std::max(start, dated.back().first);
    dated.emplace_back(start, std::move(run));
  }
  std::ranges::reverse(dated);  // the later name is the newer run if the start times are equal
  std::ranges::stable_sort(dated, std::ranges::greater(), [](const auto& one) { return one.first; });
  runs.clear();
  for (auto& [start, run] : dated) runs.push_back(std::move(run));
}

std::vector<reporting::ReadRun> read_runs(const fs::path& folder) {
  if (!support::is_folder(folder))
    throw_command_line_error("{}: {}; expected a folder with runs, such as run.output_dir of a run file{}",
                             support::format_path(folder), support::describe_path(folder),
                             support::suggest_path(folder, support::is_folder));
  std::vector<reporting::ReadRun> runs;
  for (const fs::path& one : reporting::find_runs(folder)) {
    try {
      runs.emplace_back(one);
    } catch (const support::Error& error) {
      support::log_warning(std::string(error.what()) + "; skipped");
    }
  }
  sort_newest_first(runs);
  return runs;
}

std::optional<reporting::MetricAt> best_or_last(const reporting::ReadRun& run, const std::string& metric) {
  const auto best = run.best(metric);
  return best ? best : run.last(metric);
}

// Sorts the best run first and runs without the metric last. Throws Error(configuration) if no run has the metric.
void sort_runs(std::vector<reporting::ReadRun>& runs, const std::string& metric) {
  std::set<std::string> known;
  for (const reporting::ReadRun& run : runs)
    for (const std::string& name : run.metrics()) known.insert(name);
  if (!known.contains(metric))
    throw_command_line_error(
        "--sort is \"{}\", but no run has this metric{}; expected a metric of their histories, such as validation/loss",
        metric, formats::suggest_name(metric, {known.begin(), known.end()}));
  const auto rank = [&](const reporting::ReadRun& run) {
    const auto value = best_or_last(run, metric);
    if (!value || std::isnan(value->value)) return std::numeric_limits<double>::infinity();
    return run.direction(metric) > 0 ? -value->value : value->value;
  };
  std::ranges::stable_sort(runs, {}, rank);
}

// Returns "10/10" epochs, or "120/200 steps" if the run is counted in steps.
std::string format_progress(const reporting::ReadRun& run) {
  const int64_t epochs = run.planned("train.epochs"), steps = run.planned("train.steps");
  if (epochs > 0) return std::to_string(run.epoch()) + "/" + std::to_string(epochs);
  return steps > 0 ? std::to_string(run.step()) + "/" + support::format_count(steps, "step")
                   : support::format_count(run.step(), "step");
}

std::string format_metric(const std::optional<reporting::MetricAt>& metric) {
  return metric ? format_metric(metric->value) : "";
}

support::Style style_of(const std::string& state) {
  if (state == "finished") return support::Style::green;
  return state == "failed" || state == "crashed" ? support::Style::red : support::Style::yellow;
}

// The metric of the column "best": `sort`, or the one that each run monitors.
std::string best_metric_of(const reporting::ReadRun& run, const std::string& sort) {
  return sort.empty() ? run.monitor() : sort;
}

// The metric of all runs, for the name of the column; empty if they monitor different ones.
std::string find_common_metric(const std::vector<reporting::ReadRun>& runs, const std::string& sort) {
  const std::string first = best_metric_of(runs.front(), sort);
  const auto is_other = [&](const reporting::ReadRun& run) { return best_metric_of(run, sort) != first; };
  return std::ranges::any_of(runs, is_other) ? "" : first;
}

// `sort`: the metric to show; empty: the monitored metric. `width`: 0 for no limit.
std::string format_table(const std::vector<reporting::ReadRun>& runs, const std::string& sort, size_t width) {
  enum Column : size_t { kRun, kState, kDone, kTime, kBest, kAtStep, kTrainLoss, kValidationLoss, kModel };
  reporting::TextTable table("llrrrrrrl");
  const std::string common = find_common_metric(runs, sort);
  table.add({"run", "state", "epoch", "time", common.empty() ? "best" : "best " + common, "at step", "train/loss",
             "validation/loss", "model"});
  for (const reporting::ReadRun& run : runs) {
    const std::string metric = best_metric_of(run, sort);
    const auto best = metric.empty() ? std::nullopt : best_or_last(run, metric);
    table.add(
        {run.name(), run.state(), format_progress(run), callbacks::format_elapsed(run.seconds()),
         (best && common.empty() ? metric + " " : "") + format_metric(best), best ? std::to_string(best->step) : "",
         format_metric(run.last("train/loss")), format_metric(run.last("validation/loss")), run.model()},
        {support::Style::plain, style_of(run.state())});
  }
  return table.format_within(width, {kRun, kState, kBest, kDone, kTime, kModel, kTrainLoss, kValidationLoss, kAtStep},
                             support::has_colours(stdout));
}

// Returns the number of columns from COLUMNS or the terminal. Without both there is no limit: 0.
size_t find_width() {
  if (const char* const columns = std::getenv("COLUMNS"); columns && std::atoi(columns) > 0)
    return static_cast<size_t>(std::atoi(columns));
  return support::find_terminal_width(stdout);
}

Json to_json(double value) { return std::isfinite(value) ? Json(value) : Json(artifacts::format_number(value)); }

Json to_json(const std::optional<reporting::MetricAt>& metric) {
  return metric ? Json{{"value", to_json(metric->value)}, {"step", metric->step}} : Json();
}

Json text_or_null(const std::string& text) { return text.empty() ? Json() : Json(text); }

Json to_json(const reporting::ReadRun& run) {
  Json metrics = Json::object();
  for (const std::string& name : run.metrics())
    metrics[name] = {{"last", to_json(run.last(name))}, {"best", to_json(run.best(name))}};
  const int64_t epochs = run.planned("train.epochs"), steps = run.planned("train.steps");
  return {{"run", run.name()},
          {"folder", support::find_canonical_or_absolute(run.folder().root).string()},
          {"state", run.state()},
          {"reason", text_or_null(run.text("reason"))},
          {"start", text_or_null(run.text("start"))},
          {"end", text_or_null(run.text("end"))},
          {"model", run.model()},
          {"epoch", run.epoch()},
          {"epochs", epochs > 0 ? Json(epochs) : Json()},
          {"step", run.step()},
          {"steps", steps > 0 ? Json(steps) : Json()},
          {"time_s", run.seconds()},
          {"monitor", text_or_null(run.monitor())},
          {"metrics", metrics}};
}

void add_runs_options(AddOption& add) {
  add("sort", text_value("METRIC"),
      "sort by the best value of a metric, such as validation/loss; default: newest first");
  add_json_option(add);
}

// Runs that cannot be read are logged and skipped.
int list_runs(const Arguments& arguments) {
  const std::string folder = arguments.positional().empty() ? "runs" : arguments.positional().front();
  const std::string sort = arguments.text("sort");
  std::vector<reporting::ReadRun> runs = read_runs(folder);
  if (!sort.empty()) sort_runs(runs, sort);
  if (arguments.wants_json()) {
    Json all = Json::array();
    for (const reporting::ReadRun& run : runs) all.push_back(to_json(run));
    reporting::write_output_json(Json{{"runs", all}});
    return 0;
  }
  if (runs.empty()) {
    reporting::write_output("no runs in {}\n", folder);
    return 0;
  }
  reporting::write_safe_output_text(format_table(runs, sort, find_width()));
  return 0;
}

}  // namespace

extern const Command runs_command{
    .name = "runs",
    .arguments = "[DIR]",
    .purpose = "list the runs in a folder",
    .details = "Lists the runs in a folder (default: runs) with state, length and best metric values.",
    .page = "guides/report.md",
    .add_options = add_runs_options,
    .run = list_runs};

}  // namespace tenon::host

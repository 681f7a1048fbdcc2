#include "framework/reporting/report/run_charts.h"

#include <algorithm>
#include <map>
#include <utility>

namespace tenon::reporting {

namespace {

using artifacts::Chart;
using artifacts::ChartPoint;
using artifacts::ChartSeries;
using artifacts::HistoryLine;
using Line = ChartSeries::Line;

// The chart and series of a metric: "validation/clean/accuracy" is "accuracy" of "validation clean".
struct Role {
  std::string title;
  std::string part;  // empty: a metric of a callback

  bool is_validation() const { return part.starts_with("validation"); }
};

Role find_role(const std::string& metric) {
  const size_t slash = metric.find('/');
  const std::string part = metric.substr(0, slash);
  if (slash == std::string::npos || (part != "train" && part != "validation")) return {metric, ""};
  const std::string rest = metric.substr(slash + 1);
  const size_t second = rest.find('/');
  if (part == "train" || second == std::string::npos) return {rest, part};
  return {rest.substr(second + 1), part + " " + rest.substr(0, second)};
}

struct Points {
  std::vector<ChartPoint> lines;   // values of log lines and validations
  std::vector<ChartPoint> epochs;  // means over epochs
};

// The test data are evaluated once: they have no curves.
std::map<std::string, Points> collect_points(const ReadRun& run) {
  const std::vector<std::string> losses = run.losses();
  std::map<std::string, Points> all;
  for (const HistoryLine& line : run.history()) {
    if (line.event == artifacts::HistoryEvent::test) continue;
    for (const auto& [name, value] : line.metrics) {
      Points& points = all[name];
      const bool is_mean = artifacts::is_mean_over_epoch(line.event, name, losses);
      (is_mean ? points.epochs : points.lines).push_back({static_cast<double>(line.step), value});
    }
  }
  return all;
}

struct Group {
  Chart chart;
  bool is_validated = false;
  bool is_callbacks = true;
};

int find_rank(const Group& group) {
  if (group.is_callbacks) return 5;
  if (group.chart.title == "loss") return 0;
  if (group.is_validated) return 1;
  if (group.chart.title == "learning_rate") return 2;
  return group.chart.title == "gradient_norm" ? 3 : 4;
}

Group& find_group(std::vector<Group>& groups, const Role& role) {
  auto group = std::ranges::find_if(groups, [&](const Group& one) { return one.chart.title == role.title; });
  if (group == groups.end()) group = groups.insert(groups.end(), Group{.chart = {role.title, "step", {}}});
  group->is_validated = group->is_validated || role.is_validation();
  group->is_callbacks = group->is_callbacks && role.part.empty();
  return *group;
}

size_t count_validations(const Chart& chart) {
  return static_cast<size_t>(std::ranges::count_if(
      chart.series, [](const ChartSeries& series) { return series.name.starts_with("validation"); }));
}

// Training metrics have one colour, each validation has another one.
void add_series(Chart& chart, const ReadRun& run, const std::string& metric, const Role& role, Points points) {
  ChartSeries lines{.name = role.part.empty() ? metric : role.part, .points = std::move(points.lines)};
  ChartSeries epochs{.name = "train, mean over the epoch", .points = std::move(points.epochs), .has_marks = true};
  if (role.is_validation()) {
    lines.colour = 1 + count_validations(chart);
    lines.has_marks = true;
    if (const auto best = run.best(metric)) lines.best = {static_cast<double>(best->step), best->value};
  } else if (!epochs.points.empty()) {
    lines.line = Line::faint;
  }
  for (ChartSeries* const series : {&lines, &epochs})
    if (!series->points.empty()) chart.series.push_back(std::move(*series));
}

// Each run has one colour. Means over epochs replace the noisy lines of steps, which would hide each other.
void add_series_of(Chart& chart, size_t number, const Role& role, Points points) {
  const std::string name = std::to_string(number + 1) + (role.part.empty() ? "" : ", " + role.part);
  ChartSeries series{.name = name, .points = std::move(points.epochs.empty() ? points.lines : points.epochs)};
  series.colour = number;
  series.line = role.part == "train" ? Line::dashed : Line::solid;
  series.has_marks = role.is_validation();
  chart.series.push_back(std::move(series));
}

}  // namespace

std::vector<Chart> make_charts(const std::vector<ReadRun>& runs) {
  std::vector<Group> groups;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::map<std::string, Points> points = collect_points(runs[i]);
    for (const std::string& metric : runs[i].metrics()) {
      if (!points.contains(metric)) continue;
      const Role role = find_role(metric);
      Chart& chart = find_group(groups, role).chart;
      if (runs.size() == 1)
        add_series(chart, runs[i], metric, role, std::move(points[metric]));
      else
        add_series_of(chart, i, role, std::move(points[metric]));
    }
  }
  std::ranges::stable_sort(groups, {}, find_rank);
  std::vector<Chart> charts;
  for (Group& group : groups) charts.push_back(std::move(group.chart));
  return charts;
}

}  // namespace tenon::reporting

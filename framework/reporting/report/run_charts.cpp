#include "framework/reporting/report/report_sections.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>

#include "framework/support/text/format.h"

namespace tenon::reporting {

namespace {

using artifacts::Chart;
using artifacts::ChartPoint;
using artifacts::ChartSeries;
using artifacts::HistoryLine;
using Line = ChartSeries::Line;

constexpr size_t kMaxMembers = artifacts::kChartColours - 1;  // of a family, next to its first metric

// The chart and series of a metric: "validation/clean/accuracy" is "accuracy" of "validation clean".
struct Role {
  std::string chart;
  std::string part;         // empty: a metric of a callback
  std::string member = {};  // "iou_1" in the chart of iou; empty: the first metric of its chart

  bool is_validation() const { return part.starts_with("validation"); }
};

// The mean times of a step are in one chart.
const std::map<std::string, std::string>& step_times() {
  static const std::map<std::string, std::string> names = {{"train/step_s", "whole step"},
                                                           {"train/data_wait_s", "waiting for data"},
                                                           {"train/forward_backward_s", "forward and backward"},
                                                           {"train/optimizer_s", "optimizer"}};
  return names;
}

constexpr const char* kStepTimes = "milliseconds per step";

Role find_role(const std::string& metric) {
  if (const auto time = step_times().find(metric); time != step_times().end()) return {kStepTimes, time->second};
  const size_t slash = metric.find('/');
  const std::string part = metric.substr(0, slash);
  if (slash == std::string::npos || (part != "train" && part != "validation")) return {metric, ""};
  const std::string rest = metric.substr(slash + 1);
  const size_t second = rest.find('/');
  if (part == "train" || second == std::string::npos) return {rest, part};
  return {rest.substr(second + 1), part + " " + rest.substr(0, second)};
}

// Metrics that have two or more others with longer names: iou, if there are iou_0 and iou_1.
std::set<std::string> find_families(const std::vector<std::string>& metrics) {
  std::set<std::string> names;
  for (const std::string& metric : metrics)
    if (const Role role = find_role(metric); role.is_validation()) names.insert(role.chart);
  std::set<std::string> families;
  for (const std::string& name : names) {
    const auto is_member = [&](const std::string& other) { return other.starts_with(name + "_"); };
    if (name != "loss" && std::ranges::count_if(names, is_member) >= 2) families.insert(name);
  }
  return families;
}

// Puts the metric into the chart of its family.
Role join_family(Role role, const std::set<std::string>& families) {
  for (const std::string& family : families)
    if (role.is_validation() && role.chart.starts_with(family + "_")) return {family, role.part, role.chart};
  return role;
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
      const double shown = step_times().contains(name) ? 1000 * value : value;
      (is_mean ? points.epochs : points.lines).push_back({static_cast<double>(line.step), shown});
    }
  }
  return all;
}

struct Group {
  std::string name;
  Chart chart;
  bool is_validated = false;
  bool is_callbacks = true;
};

int find_rank(const Group& group) {
  if (group.is_callbacks) return 5;
  if (group.name == "loss") return 0;
  if (group.is_validated) return 1;
  if (group.name == "learning_rate") return 2;
  return group.name == "gradient_norm" ? 3 : 4;
}

// A logarithmic axis would show the last steps of a schedule, with rates near zero, and little else.
Group make_group(const Role& role) {
  return {role.chart,
          {.title = format_title(role.chart),
           .x_label = "step",
           .series = {},
           .scale = role.chart == "learning_rate" ? Chart::Scale::linear : Chart::Scale::automatic}};
}

Group& find_group(std::vector<Group>& groups, const Role& role) {
  auto group = std::ranges::find(groups, role.chart, &Group::name);
  if (group == groups.end()) group = groups.insert(groups.end(), make_group(role));
  group->is_validated = group->is_validated || role.is_validation();
  group->is_callbacks = group->is_callbacks && role.part.empty();
  return *group;
}

// Training metrics have one colour, each validation and each member of a family has another one.
void add_series(Chart& chart, const ReadRun& run, const std::string& metric, const Role& role, Points points) {
  ChartSeries lines{.name = role.part.empty() ? format_title(metric) : role.part, .points = std::move(points.lines)};
  ChartSeries epochs{.name = "train, epoch mean", .points = std::move(points.epochs), .has_marks = true};
  if (!role.member.empty()) lines.name = role.member;
  if (role.is_validation()) {
    const auto is_coloured = [](const ChartSeries& series) { return series.colour > 0; };
    lines.colour = 1 + static_cast<size_t>(std::ranges::count_if(chart.series, is_coloured));
    lines.has_marks = true;
    const auto best = role.member.empty() ? run.best(metric) : std::nullopt;
    if (best) lines.best = {static_cast<double>(best->step), best->value};
  } else if (role.chart == kStepTimes) {
    lines.colour = chart.series.size();
  } else if (!epochs.points.empty()) {
    lines.line = Line::faint;
  }
  for (ChartSeries* const series : {&lines, &epochs})
    if (!series->points.empty()) chart.series.push_back(std::move(*series));
}

// Returns the members of a family that its chart shows: all, or those with the worst last values.
std::set<std::string> choose_members(const ReadRun& run, const std::string& family,
                                     const std::set<std::string>& families) {
  std::vector<std::pair<double, std::string>> ranked;
  for (const std::string& metric : run.metrics()) {
    const Role role = join_family(find_role(metric), families);
    const auto last = run.last(metric);
    if (role.chart == family && !role.member.empty() && last)
      ranked.emplace_back(run.direction(metric) < 0 ? -last->value : last->value, metric);
  }
  std::ranges::stable_sort(ranked, {}, &std::pair<double, std::string>::first);
  if (ranked.size() > kMaxMembers) ranked.resize(kMaxMembers);
  std::set<std::string> chosen;
  for (const auto& [value, metric] : ranked) chosen.insert(metric);
  return chosen;
}

std::vector<Group> make_groups(const ReadRun& run) {
  std::vector<Group> groups;
  const std::vector<std::string> metrics = run.metrics();
  const std::set<std::string> families = find_families(metrics);
  std::map<std::string, std::set<std::string>> members;
  for (const std::string& family : families) members[family] = choose_members(run, family, families);
  std::map<std::string, size_t> left_out;
  std::map<std::string, Points> points = collect_points(run);
  for (const std::string& metric : metrics) {
    if (!points.contains(metric)) continue;
    const Role role = join_family(find_role(metric), families);
    if (!role.member.empty() && !members[role.chart].contains(metric))
      ++left_out[role.chart];
    else
      add_series(find_group(groups, role).chart, run, metric, role, std::move(points[metric]));
  }
  for (const auto& [family, count] : left_out)
    find_group(groups, {family, "validation"}).chart.note =
        fmt::format("with the {} worst of {}", kMaxMembers, kMaxMembers + count);
  return groups;
}

// Each variant has one colour. Means over epochs replace the noisy lines of steps, which would hide each other.
void add_series_of(Chart& chart, const RunLabel& label, const Role& role, Points points) {
  const std::string name = label.text() + (role.part.empty() ? "" : ", " + role.part);
  ChartSeries series{.name = name, .points = std::move(points.epochs.empty() ? points.lines : points.epochs)};
  series.colour = label.number;
  series.line = role.part == "train" ? Line::dashed : Line::solid;
  series.has_marks = role.is_validation();
  chart.series.push_back(std::move(series));
}

// One chart for each of the times of a step.
Role separate_times(const std::string& metric) {
  const Role role = find_role(metric);
  return role.chart == kStepTimes ? Role{std::string(kStepTimes) + ": " + role.part, "train"} : role;
}

std::vector<Group> make_common_groups(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels) {
  std::vector<Group> groups;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::map<std::string, Points> points = collect_points(runs[i]);
    for (const std::string& metric : runs[i].metrics()) {
      if (!points.contains(metric)) continue;
      const Role role = separate_times(metric);
      add_series_of(find_group(groups, role).chart, labels[i], role, std::move(points[metric]));
    }
  }
  return groups;
}

std::vector<Chart> sort_charts(std::vector<Group> groups) {
  std::ranges::stable_sort(groups, {}, find_rank);
  std::vector<Chart> charts;
  for (Group& group : groups) charts.push_back(std::move(group.chart));
  return charts;
}

}  // namespace

std::string format_title(std::string metric) {
  std::ranges::replace(metric, '/', ' ');
  std::ranges::replace(metric, '_', ' ');
  return metric;
}

std::vector<Chart> make_charts(const ReadRun& run) { return sort_charts(make_groups(run)); }

std::vector<Chart> make_charts(const std::vector<ReadRun>& runs, const std::vector<RunLabel>& labels) {
  return sort_charts(make_common_groups(runs, labels));
}

}  // namespace tenon::reporting

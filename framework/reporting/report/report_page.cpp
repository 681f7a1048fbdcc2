#include "framework/reporting/report/report_page.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <string_view>
#include <utility>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/callbacks/progress.h"
#include "framework/reporting/report/describe_run.h"
#include "framework/reporting/report/file_name.h"
#include "framework/reporting/report/findings.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/reporting/report/report_style.h"
#include "framework/reporting/report/run_charts.h"
#include "framework/reporting/report/run_details.h"
#include "framework/reporting/report/samples_section.h"
#include "framework/reporting/report/several_runs.h"
#include "framework/support/files/files.h"

namespace tenon::reporting {

namespace {

using artifacts::Chart;
using artifacts::ChartSeries;
using artifacts::format_short_number;

constexpr size_t kMaxCharts = 60;  // maximum on a page; history.csv has all metrics

// Prints terms with their values. Terms without a value are omitted.
std::string format_facts(const std::vector<std::pair<std::string, std::string>>& terms) {
  std::string text;
  for (const auto& [term, description] : terms)
    if (!description.empty())
      text +=
          element("li", "", text_element("span", "class=\"quiet\"", term) + text_element("b", "", description)) + "\n";
  return element("ul", "class=\"facts\"", "\n" + text) + "\n";
}

// Leaves out the date if it is that of the start.
std::string format_end(const std::string& start, const std::string& end) {
  const size_t blank = end.find(' ');
  return blank != end.npos && start.starts_with(end.substr(0, blank + 1)) ? end.substr(blank + 1) : end;
}

std::string format_heading(const ReadRun& run) {
  const std::string start = format_local_time(run.text("start")), end = format_local_time(run.text("end"));
  return element(
             "header", "",
             "\n" + text_element("h1", "", name_of(run)) + "\n" +
                 element("p", "class=\"quiet\"",
                         format_state(run) + format_text(", started " + start +
                                                         (end.empty() ? "" : ", ended " + format_end(start, end)))) +
                 "\n") +
         "\n" +
         format_facts({{"model", run.model()},
                       {"trained until", describe_place(run)},
                       {"training time", callbacks::format_elapsed(run.seconds())},
                       {"best " + format_title(run.monitor()), describe_best(run)},
                       {"last train loss", describe_last(run, "train/loss")},
                       {"last validation loss", describe_last(run, "validation/loss")},
                       {"device", describe_device(run)}});
}

// Writes "56 %" with a blank that does not end a line.
std::string keep_with_unit(std::string html) {
  const std::string blank = "\u00A0";
  for (size_t at = html.find(" %"); at != html.npos; at = html.find(" %", at)) html.replace(at, 1, blank);
  return html;
}

std::string format_findings(const ReadRun& run, const std::optional<SavedSamples>& samples) {
  std::vector<Finding> findings = find_findings(run);
  if (const auto misclassified = samples ? find_misclassified(*samples) : std::nullopt)
    findings.push_back(*misclassified);
  std::string text;
  for (const Finding& finding : findings) {
    const char* const rating = finding.rating == Finding::Rating::good  ? "good"
                               : finding.rating == Finding::Rating::bad ? "bad"
                                                                        : "neutral";
    const size_t end = std::min(finding.answer.find_first_of(":,."), finding.answer.size());
    text += text_element("dt", "", finding.question) +
            element("dd", "",
                    text_element("strong", std::string("class=\"") + rating + "\"", finding.answer.substr(0, end)) +
                        keep_with_unit(format_text(finding.answer.substr(end)))) +
            "\n";
  }
  return section("Summary", element("dl", "class=\"findings\"", "\n" + text) + "\n");
}

std::string format_legend(const Chart& chart) {
  const bool has_best = std::ranges::any_of(chart.series, [](const ChartSeries& one) { return one.best.has_value(); });
  std::string rows = element("tr", "",
                             "<th></th><th class=\"number\">last</th>" +
                                 std::string(has_best ? "<th class=\"number\">best</th><th>at step</th>" : ""));
  for (const ChartSeries& series : chart.series) {
    std::string cells = element("td", "class=\"name\"", draw_key(series) + format_text(series.name)) +
                        text_element("td", "class=\"number\"", format_short_number(series.points.back().y));
    if (has_best)
      cells += text_element("td", "class=\"number\"", series.best ? format_short_number(series.best->y) : "") +
               text_element("td", "", series.best ? format_short_number(series.best->x) : "");
    rows += "\n" + element("tr", "", cells);
  }
  return element("div", "class=\"wide\"", element("table", "class=\"legend\"", "\n" + rows + "\n"));
}

// Whether any series has a line, rather than one value.
bool has_curve(const Chart& chart) {
  return std::ranges::any_of(chart.series, [](const ChartSeries& one) { return one.points.size() > 1; });
}

std::string format_curves(const std::vector<Chart>& charts) {
  std::string text;
  for (size_t i = 0; i < std::min(charts.size(), kMaxCharts); ++i) {
    std::string scale = is_logarithmic(charts[i]) ? text_element("span", "class=\"quiet\"", " logarithmic") : "";
    if (!charts[i].note.empty()) scale += text_element("span", "class=\"quiet\"", " " + charts[i].note);
    text += element("figure", "",
                    "\n" + element("figcaption", "", element("h3", "", format_text(charts[i].title) + scale)) + "\n" +
                        draw_chart(charts[i]) + format_legend(charts[i]) + "\n") +
            "\n";
  }
  const std::string left_out =
      charts.size() > kMaxCharts
          ? text_element("p", "class=\"quiet\"",
                         std::to_string(charts.size() - kMaxCharts) + " more metrics are in history.csv.") +
                "\n"
          : "";
  return section("Curves", element("div", "class=\"charts\"", "\n" + text) + "\n" + left_out);
}

// A table of the metrics that have one value each.
std::string format_single_values(const std::vector<Chart>& charts) {
  std::string rows =
      element("tr", "", "<th>metric</th><th>of</th><th class=\"number\">value</th><th class=\"number\">at step</th>");
  for (const Chart& chart : charts)
    for (size_t i = 0; i < chart.series.size(); ++i) {
      const ChartSeries& series = chart.series[i];
      const artifacts::ChartPoint& point = series.points.front();
      rows += "\n" + element("tr", "",
                             text_element("td", "", i == 0 ? chart.title : "") +
                                 text_element("td", "", series.name == chart.title ? "" : series.name) +
                                 text_element("td", "class=\"number\"", format_short_number(point.y)) +
                                 text_element("td", "class=\"number\"", format_short_number(point.x)));
    }
  return section("Single values", element("div", "class=\"wide\"", element("table", "", "\n" + rows + "\n")) + "\n");
}

std::string format_charts(std::vector<Chart> charts) {
  if (charts.empty()) return section("Curves", text_element("p", "", "The history has no metrics yet.") + "\n");
  const auto single = std::stable_partition(charts.begin(), charts.end(), has_curve);
  const std::vector<Chart> single_values(single, charts.end());
  charts.erase(single, charts.end());
  return (charts.empty() ? "" : format_curves(charts)) +
         (single_values.empty() ? "" : format_single_values(single_values));
}

// "accuracy" for test/accuracy.
std::string format_test_metric(const std::string& name) {
  constexpr std::string_view kPart = "test/";
  return format_title(name.starts_with(kPart) ? name.substr(kPart.size()) : name);
}

// The metrics of the test data, with a sentence about the weights.
std::string format_test(const ReadRun& run) {
  const std::optional<ReadTest> test = run.test();
  if (!test) return "";
  const std::string weights = test->monitor.empty()
                                  ? "last, step " + std::to_string(test->step)
                                  : "best, step " + std::to_string(test->step) + ", by " + format_title(test->monitor);
  std::string rows;
  for (const auto& [name, value] : test->metrics)
    rows += element("tr", "",
                    text_element("td", "", format_test_metric(name)) +
                        text_element("td", "class=\"number\"", format_short_number(value))) +
            "\n";
  return section("Test", text_element("p", "", "Evaluated once, after training. Weights: " + weights + ".") + "\n" +
                             element("table", "", "\n" + rows) + "\n");
}

std::string format_one(const ReadRun& run) {
  const std::optional<SavedSamples> samples = read_samples(run.folder().samples());
  return format_heading(run) + format_findings(run, samples) + format_test(run) + format_charts(make_charts(run)) +
         (samples ? format_samples_section(*samples) : "") + format_details(run);
}

}  // namespace

std::string make_report_page(const std::vector<ReadRun>& runs, const std::vector<std::string>& variants) {
  const std::vector<RunLabel> labels = label_runs(runs, variants);
  const std::string title =
      runs.size() == 1 ? name_of(runs.front()) + ", " + describe_time(runs.front()) : count_runs(labels);
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n" +
         text_element("title", "", title) + "\n<style>\n" + artifacts::chart_style() + kReportStyle +
         "</style>\n</head>\n<body>\n<main>\n" +
         (runs.size() == 1 ? format_one(runs.front())
                           : format_several_runs(runs, labels, format_charts(make_charts(runs, labels)))) +
         "</main>\n</body>\n</html>\n";
}

void write_report(const std::filesystem::path& folder) {
  constexpr auto kKind = support::ErrorKind::system;
  const ReadRun run(folder);
  const std::filesystem::path plots = run.folder().plots();
  support::replace_with_empty_folder(plots, kKind);
  for (const Chart& chart : make_charts(run))
    std::ofstream(plots / (make_file_name(chart.title) + ".svg"), std::ios::binary) << draw_chart_file(chart);
  artifacts::write_file_durably(run.folder().report_file(), make_report_page({run}), kKind);
}

}  // namespace tenon::reporting

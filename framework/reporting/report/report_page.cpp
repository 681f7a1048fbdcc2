#include "framework/reporting/report/report_page.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <utility>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/hyperparameters.h"
#include "framework/callbacks/progress.h"
#include "framework/reporting/report/file_name.h"
#include "framework/reporting/report/findings.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/reporting/report/png_plots.h"
#include "framework/reporting/report/report_style.h"
#include "framework/reporting/report/run_charts.h"
#include "framework/reporting/report/run_details.h"
#include "framework/reporting/report/samples_section.h"
#include "framework/reporting/terminal/text_table.h"
#include "framework/support/files.h"

namespace tenon::reporting {

namespace {

using artifacts::Chart;
using artifacts::ChartSeries;
using artifacts::escape_html;
using artifacts::Hyperparameters;
using artifacts::print_short_number;

constexpr size_t kMaxCharts = 60;  // maximum on a page; history.csv has all metrics

// Prints terms with their values. Terms without a value are omitted.
std::string print_facts(const std::vector<std::pair<std::string, std::string>>& terms) {
  std::string text;
  for (const auto& [term, description] : terms)
    if (!description.empty())
      text +=
          element("li", "", text_element("span", "class=\"quiet\"", term) + text_element("b", "", description)) + "\n";
  return element("ul", "class=\"facts\"", "\n" + text) + "\n";
}

std::string describe_place(const ReadRun& run) {
  const int64_t epochs = run.planned("train.epochs"), steps = run.planned("train.steps");
  return std::to_string(run.epoch()) + (epochs > 0 ? " of " + std::to_string(epochs) : "") + " epochs, " +
         print_count(static_cast<uint64_t>(run.step())) +
         (steps > 0 ? " of " + print_count(static_cast<uint64_t>(steps)) : "") + " steps";
}

std::string describe_best(const ReadRun& run) {
  const auto best = run.best(run.monitor());
  return best ? print_short_number(best->value) + " at step " + std::to_string(best->step) : "";
}

std::string describe_last(const ReadRun& run, const std::string& metric) {
  const auto last = run.last(metric);
  return last ? print_short_number(last->value) : "";
}

const char* rating_of(const ReadRun& run) {
  if (run.state() == "finished") return "good";
  return run.state() == "failed" || run.state() == "crashed" ? "bad" : "neutral";
}

std::string print_state(const ReadRun& run) {
  return text_element("span", std::string("class=\"state ") + rating_of(run) + "\"", run.state());
}

std::string print_heading(const ReadRun& run) {
  const std::string end = run.text("end").empty() ? "" : ", ended " + run.text("end");
  return element("header", "",
                 "\n" + text_element("h1", "", run.name()) + "\n" +
                     element("p", "class=\"quiet\"",
                             print_state(run) + escape_html(", started " + run.text("start") + end)) +
                     "\n") +
         "\n" +
         print_facts({{"model", run.model()},
                      {"trained until", describe_place(run)},
                      {"training time", callbacks::format_duration(run.seconds())},
                      {"best " + run.monitor(), describe_best(run)},
                      {"last train/loss", describe_last(run, "train/loss")},
                      {"last validation/loss", describe_last(run, "validation/loss")},
                      {"device", run.text("device")}});
}

std::string print_findings(const ReadRun& run, const std::optional<SavedSamples>& samples) {
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
                        escape_html(finding.answer.substr(end))) +
            "\n";
  }
  return section("Summary", element("dl", "class=\"findings\"", "\n" + text) + "\n");
}

std::string print_legend(const Chart& chart) {
  const bool has_best = std::ranges::any_of(chart.series, [](const ChartSeries& one) { return one.best.has_value(); });
  std::string rows = element("tr", "",
                             "<th></th><th class=\"number\">last</th>" +
                                 std::string(has_best ? "<th class=\"number\">best</th><th>at step</th>" : ""));
  for (const ChartSeries& series : chart.series) {
    std::string cells = element("td", "", draw_key(series) + escape_html(series.name)) +
                        text_element("td", "class=\"number\"", print_short_number(series.points.back().y));
    if (has_best)
      cells += text_element("td", "class=\"number\"", series.best ? print_short_number(series.best->y) : "") +
               text_element("td", "", series.best ? print_short_number(series.best->x) : "");
    rows += "\n" + element("tr", "", cells);
  }
  return element("div", "class=\"wide\"", element("table", "class=\"legend\"", "\n" + rows + "\n"));
}

std::string print_charts(const std::vector<ReadRun>& runs) {
  const std::vector<Chart> charts = make_charts(runs);
  std::string text;
  for (size_t i = 0; i < std::min(charts.size(), kMaxCharts); ++i) {
    const std::string scale = is_logarithmic(charts[i]) ? text_element("span", "class=\"quiet\"", " logarithmic") : "";
    text += element("figure", "",
                    "\n" + element("figcaption", "", element("h3", "", escape_html(charts[i].title) + scale)) + "\n" +
                        draw_chart(charts[i]) + print_legend(charts[i]) + "\n") +
            "\n";
  }
  if (charts.empty()) return section("Curves", text_element("p", "", "The history has no metrics yet.") + "\n");
  const std::string left_out =
      charts.size() > kMaxCharts
          ? text_element("p", "class=\"quiet\"",
                         std::to_string(charts.size() - kMaxCharts) + " more metrics are in history.csv.") +
                "\n"
          : "";
  return section("Curves", element("div", "class=\"charts\"", "\n" + text) + "\n" + left_out);
}

// The metrics of the test data, with a sentence about the weights.
std::string print_test(const ReadRun& run) {
  const std::optional<ReadTest> test = run.test();
  if (!test) return "";
  const std::string weights = test->monitor.empty()
                                  ? "last, step " + std::to_string(test->step)
                                  : "best, step " + std::to_string(test->step) + ", by " + test->monitor;
  std::string rows;
  for (const auto& [name, value] : test->metrics)
    rows += element("tr", "",
                    text_element("td", "", name) + text_element("td", "class=\"number\"", print_short_number(value))) +
            "\n";
  return section("Test", text_element("p", "", "Evaluated once, after training. Weights: " + weights + ".") + "\n" +
                             element("table", "", "\n" + rows) + "\n");
}

std::string print_one(const ReadRun& run) {
  const std::optional<SavedSamples> samples = read_samples(run.folder().samples());
  return print_heading(run) + print_findings(run, samples) + print_test(run) + print_charts({run}) +
         (samples ? print_samples_section(*samples) : "") + print_details(run);
}

std::string print_runs_table(const std::vector<ReadRun>& runs) {
  std::string rows = element("tr", "",
                             "<th></th><th>run</th><th>state</th><th>model</th><th>trained until</th>"
                             "<th class=\"number\">time</th><th>best</th><th class=\"number\">train/loss</th>"
                             "<th class=\"number\">validation/loss</th>");
  for (size_t i = 0; i < runs.size(); ++i) {
    const ReadRun& run = runs[i];
    ChartSeries key;
    key.colour = i;
    const std::string best = describe_best(run);
    rows += "\n" + element("tr", "",
                           element("td", "", draw_key(key) + std::to_string(i + 1)) +
                               text_element("td", "", run.name()) + element("td", "", print_state(run)) +
                               text_element("td", "", run.model()) + text_element("td", "", describe_place(run)) +
                               text_element("td", "class=\"number\"", callbacks::format_duration(run.seconds())) +
                               text_element("td", "", best.empty() ? "" : run.monitor() + " " + best) +
                               text_element("td", "class=\"number\"", describe_last(run, "train/loss")) +
                               text_element("td", "class=\"number\"", describe_last(run, "validation/loss")));
  }
  return element("div", "class=\"wide\"", element("table", "", "\n" + rows + "\n")) + "\n";
}

// Prints the values that differ between the plans.
std::string print_differences(const std::vector<ReadRun>& runs) {
  std::vector<Hyperparameters> all;
  std::set<std::string> keys;
  for (const ReadRun& run : runs) {
    all.push_back(artifacts::find_hyperparameters(run.plan(), run.folder().plan_file().string()));
    for (const auto& [key, value] : all.back()) keys.insert(key);
  }
  std::string rows;
  for (const std::string& key : keys) {
    std::set<std::string> different;
    std::string cells = text_element("th", "", key);
    for (const Hyperparameters& values : all) {
      const auto found = values.find(key);
      const std::string value = found == values.end() ? "missing" : artifacts::print_hyperparameter(found->second);
      different.insert(value);
      cells += text_element("td", "", value);
    }
    if (different.size() > 1) rows += element("tr", "", cells) + "\n";
  }
  if (rows.empty()) return section("What differs", text_element("p", "", "Nothing that affects the metrics.") + "\n");
  std::string heads = "<th></th>";
  for (size_t i = 0; i < runs.size(); ++i) heads += text_element("th", "", std::to_string(i + 1));
  return section(
      "What differs",
      element("div", "class=\"wide\"", element("table", "", "\n" + element("tr", "", heads) + "\n" + rows)) + "\n");
}

std::string print_findings_of(const std::vector<ReadRun>& runs) {
  std::string text;
  for (size_t i = 0; i < runs.size(); ++i) {
    std::string items;
    for (const Finding& finding : find_findings(runs[i]))
      items += text_element("li", "", finding.question + " " + finding.answer) + "\n";
    text += element("details", "",
                    text_element("summary", "", std::to_string(i + 1) + ", " + runs[i].name()) + "\n" +
                        element("ul", "", "\n" + items)) +
            "\n";
  }
  return section("Single runs", text);
}

std::string print_several(const std::vector<ReadRun>& runs) {
  return element("header", "", "\n" + text_element("h1", "", std::to_string(runs.size()) + " runs") + "\n") + "\n" +
         print_runs_table(runs) + print_differences(runs) + print_charts(runs) + print_findings_of(runs);
}

}  // namespace

std::string make_report_page(const std::vector<ReadRun>& runs) {
  const std::string title = runs.size() == 1 ? runs.front().name() : std::to_string(runs.size()) + " runs";
  return "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
         "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
         "<meta name=\"color-scheme\" content=\"light dark\">\n" +
         text_element("title", "", title) + "\n<style>\n" + artifacts::chart_style() + kReportStyle +
         "</style>\n</head>\n<body>\n<main>\n" + (runs.size() == 1 ? print_one(runs.front()) : print_several(runs)) +
         "</main>\n</body>\n</html>\n";
}

void write_report(const std::filesystem::path& folder, bool has_png_plots) {
  constexpr auto kKind = support::ErrorKind::system;
  const ReadRun run(folder);
  const std::filesystem::path plots = run.folder().plots();
  support::replace_with_empty_folder(plots, kKind);
  for (const Chart& chart : make_charts({run}))
    std::ofstream(plots / (make_file_name(chart.title) + ".svg"), std::ios::binary) << draw_chart_file(chart);
  if (has_png_plots) write_png_plots(plots);
  artifacts::write_file_durably(run.folder().report_file(), make_report_page({run}), kKind);
}

}  // namespace tenon::reporting

#include "framework/reporting/report/report_page.h"

#include <algorithm>
#include <filesystem>
#include <optional>
#include <string_view>
#include <utility>

#include "framework/artifacts/checkpoint/checkpoint_links.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/drawing/line_chart.h"
#include "framework/artifacts/drawing/render_samples.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/callbacks/progress.h"
#include "framework/formats/strings.h"
#include "framework/reporting/report/curve_scripts.h"
#include "framework/reporting/report/describe_run.h"
#include "framework/reporting/report/embedded_files.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/reporting/report/report_sections.h"
#include "framework/reporting/report/saved_samples.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::reporting {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;
using artifacts::Chart;
using artifacts::ChartSeries;
using artifacts::format_short_number;

constexpr size_t kMaxCharts = 60;  // maximum on a page; history.csv has all metrics

// The style sheet. It uses the colours of the charts' style sheet.
constexpr const char* kReportStyle = R"(
*{box-sizing:border-box}
body{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,sans-serif;
-webkit-text-size-adjust:100%}
main{max-width:66rem;margin:0 auto;padding:2rem 1.25rem 4rem}
h1{font-size:1.6rem;line-height:1.2;margin:0;overflow-wrap:anywhere}
h2{font-size:1.15rem;margin:2.75rem 0 .75rem;padding-top:.75rem;border-top:1px solid var(--rule)}
h3{font-size:1rem;margin:0;overflow-wrap:anywhere}
p{margin:.4rem 0}
.quiet{color:var(--faint)}
.state{font-weight:600}
.good{color:var(--c2)}.bad{color:var(--c1)}.neutral{color:var(--ink)}
.facts{list-style:none;padding:0;display:grid;grid-template-columns:repeat(auto-fill,minmax(13rem,1fr));gap:.9rem 1.5rem;margin:1.5rem 0 0}
.facts li{min-width:0;overflow-wrap:anywhere}
.facts span{display:block;font-size:.85rem}
.facts b{font-weight:400}
dt{color:var(--faint);font-size:.85rem}
dd{margin:0;overflow-wrap:anywhere}
.findings{display:grid;grid-template-columns:minmax(9rem,12rem) 1fr;gap:.5rem 1.5rem;margin:0}
.findings dt{font-size:1rem}
.charts{display:grid;grid-template-columns:repeat(auto-fill,minmax(min(100%,26rem),1fr));gap:2rem 2.25rem}
figure{margin:0;min-width:0}
figcaption{margin-bottom:.25rem}
.chart{display:block;width:100%;height:auto}
table{border-collapse:collapse;font-size:.9rem;font-variant-numeric:tabular-nums}
th{font-weight:400;color:var(--faint);text-align:left}
td,th{padding:.15rem 1.1rem .15rem 0;vertical-align:top}
td.number,th.number{text-align:right}
td.number,th{white-space:nowrap}
.legend{font-size:.85rem}
.chart.key{display:inline-block;width:22px;height:6px;vertical-align:middle;margin-right:.5em}
.chart.key .line{stroke-width:2}
.wide{overflow-x:auto}
pre{margin:0;overflow-x:auto;white-space:pre-wrap;overflow-wrap:anywhere;font:13px/1.5 ui-monospace,monospace;
background:var(--sheet);padding:.9rem 1rem;border-radius:4px}
pre.table{white-space:pre}
.environment td{overflow-wrap:anywhere}
.legend td.name{padding-left:32px;text-indent:-32px}
.runs td{white-space:nowrap}
.several{margin-bottom:1rem}
section h3{margin:1.5rem 0 .5rem}
.charts h3{margin:0}
.chart.confusion .frame{fill:none;stroke:var(--rule)}.chart.confusion .count{fill:var(--ink)}
.chart.bar{height:.9rem;margin:.25rem 0 .75rem}
details{margin:.5rem 0}
summary{cursor:pointer}
:root{--sheet:#f5f6f8}
@media(prefers-color-scheme:dark){:root{--sheet:#1d2127}}
@media(max-width:34rem){main{padding:1.25rem 1rem 3rem}
.findings{grid-template-columns:1fr;gap:0}.findings dd{margin-bottom:.75rem}}
@media print{body{font-size:12px}details>*{display:block}figure{break-inside:avoid}}
)";

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
  return element("header", "",
                 fmt::format("\n{}\n{}\n", text_element("h1", "", name_of(run)),
                             element("p", "class=\"quiet\"",
                                     format_state(run) +
                                         format_text(", started " + start +
                                                     (end.empty() ? "" : ", ended " + format_end(start, end)))))) +
         "\n" +
         format_facts({{"model", run.model()},
                       {"trained until", describe_place(run)},
                       {"training time", callbacks::format_elapsed(run.seconds())},
                       {"best " + format_title(run.monitor()), describe_best(run)},
                       {"last train loss", describe_last(run, "train/loss")},
                       {"last validation loss", describe_last(run, "validation/loss")},
                       {"device", describe_device(run)}});
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
                        // The blank in "56 %" does not end a line.
                        formats::replace_all(format_text(finding.answer.substr(end)), " %", "\u00A0%")) +
            "\n";
  }
  return section("Summary", element("dl", "class=\"findings\"", "\n" + text) + "\n");
}

std::string format_legend(const Chart& chart) {
  const bool has_best = std::ranges::any_of(chart.series, [](const ChartSeries& one) { return one.best.has_value(); });
  std::string rows = table_row("<th></th><th class=\"number\">last</th>" +
                               std::string(has_best ? "<th class=\"number\">best</th><th>at step</th>" : ""));
  for (const ChartSeries& series : chart.series) {
    std::string cells = element("td", "class=\"name\"", draw_key(series) + format_text(series.name)) +
                        number_cell(format_short_number(series.points.back().y));
    if (has_best)
      cells += number_cell(series.best ? format_short_number(series.best->y) : "") +
               table_cell(series.best ? format_short_number(series.best->x) : "");
    rows += "\n" + table_row(cells);
  }
  return wide_table("class=\"legend\"", rows);
}

// Whether any series has a line, rather than one value.
bool has_curve(const Chart& chart) {
  return std::ranges::any_of(chart.series, [](const ChartSeries& one) { return one.points.size() > 1; });
}

std::string format_curves(const std::vector<Chart>& charts) {
  std::string text;
  for (size_t i = 0; i < std::min(charts.size(), kMaxCharts); ++i) {
    std::string scale = is_logarithmic(charts[i]) ? text_element("span", "class=\"quiet scale\"", " logarithmic") : "";
    if (!charts[i].note.empty()) scale += text_element("span", "class=\"quiet\"", " " + charts[i].note);
    text += element("figure", "",
                    "\n" + element("figcaption", "", element("h3", "", format_text(charts[i].title) + scale)) + "\n" +
                        draw_chart(charts[i]) + format_legend(charts[i]) + "\n" + format_curve_data(charts[i])) +
            "\n";
  }
  text = element("div", "class=\"charts\"", "\n" + text) + "\n";
  if (charts.size() > kMaxCharts)
    text += quiet_line(fmt::format("{} more metrics are in history.csv.", charts.size() - kMaxCharts));
  return section("Curves", text, "id=\"curves\"") + format_curve_scripts();
}

// A table of the metrics that have one value each.
std::string format_single_values(const std::vector<Chart>& charts) {
  std::string rows =
      table_row("<th>metric</th><th>of</th><th class=\"number\">value</th><th class=\"number\">at step</th>");
  for (const Chart& chart : charts)
    for (size_t i = 0; i < chart.series.size(); ++i) {
      const ChartSeries& series = chart.series[i];
      const artifacts::ChartPoint& point = series.points.front();
      rows += "\n" + table_row(table_cell(i == 0 ? chart.title : "") +
                               table_cell(series.name == chart.title ? "" : series.name) +
                               number_cell(format_short_number(point.y)) + number_cell(format_short_number(point.x)));
    }
  return section("Single values", wide_table("", rows) + "\n");
}

std::string format_charts(std::vector<Chart> charts) {
  if (charts.empty()) return section("Curves", text_element("p", "", "The history has no metrics.") + "\n");
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
  const bool is_last = test->monitor.empty();
  const std::string weights = fmt::format("{}, step {}{}", is_last ? "last" : "best", test->step,
                                          is_last ? "" : ", by " + format_title(test->monitor));
  std::string rows;
  for (const auto& [name, value] : test->metrics)
    rows += table_row(table_cell(format_test_metric(name)) + number_cell(format_short_number(value))) + "\n";
  return section("Test", text_element("p", "", "Evaluated once, after training. Weights: " + weights + ".") + "\n" +
                             element("table", "", "\n" + rows) + "\n");
}

std::string format_stages(const ReadRun& run) {
  const std::vector<pipeline::StageSeconds> stages = run.stages();
  double total = 0;
  for (const pipeline::StageSeconds& one : stages) total += one.seconds;
  if (total <= 0) return "";
  std::vector<double> shares;
  std::string rows;
  for (const pipeline::StageSeconds& one : stages) {
    artifacts::ChartSeries key;
    key.colour = shares.size();
    shares.push_back(one.seconds / total);
    rows += table_row(element("td", "", artifacts::draw_key(key) + format_text(one.name)) +
                      number_cell(fmt::format("{:.1f} s", one.seconds)) +
                      number_cell(fmt::format("{:.1f} %", 100 * shares.back()))) +
            "\n";
  }
  return section(
      "Where the time went",
      artifacts::draw_bar(shares) + element("table", "", "\n" + rows) + "\n" +
          quiet_line("Time of the training thread of rank 0. Stage data is the time spent waiting for data."));
}

std::string format_preformatted(const std::string& text, const char* attributes = "") {
  return text_element("pre", attributes, text) + "\n";
}

std::string format_model(const ReadRun& run) {
  std::string lines;
  if (const auto model = run.record().find("model"); model != run.record().end() && model->is_array())
    for (const Json& line : *model) lines += (line.is_string() ? line.get<std::string>() : line.dump()) + "\n";
  return lines.empty() ? "" : section("Model", format_preformatted(lines, "class=\"table\""));
}

// Lists every scalar of run.json with the names of its enclosing objects.
void flatten(const Json& value, const std::string& key, std::vector<std::pair<std::string, std::string>>& values) {
  if (value.is_object() || value.is_array()) {
    for (const auto& [name, child] : value.items()) flatten(child, key.empty() ? name : key + " " + name, values);
  } else if (!value.is_null()) {
    const bool is_bytes = key.ends_with("_bytes") && value.is_number_unsigned();
    std::string name = is_bytes ? key.substr(0, key.size() - std::string("_bytes").size()) : key;
    std::ranges::replace(name, '_', ' ');
    values.emplace_back(name == "peak" ? "peak memory" : name, is_bytes ? support::format_bytes(value.get<uint64_t>())
                                                               : value.is_boolean() ? (value.get<bool>() ? "yes" : "no")
                                                               : value.is_string()  ? value.get<std::string>()
                                                                                    : value.dump());
  }
}

std::string format_environment(const ReadRun& run) {
  Json shown = run.record();
  // These keys are shown elsewhere on the page or are not meant for readers.
  for (const char* const key : {"model", "directions", "monitor", "command_line", "plugins", "test", "stages",
                                "first_loss", "zero_output_loss", "start", "end", "status"})
    shown.erase(key);
  for (const char* const key : {"host_waits", "graph_replays"})  // of a device
    if (const auto count = shown.find(key); count != shown.end() && *count == 0) shown.erase(key);
  std::vector<std::pair<std::string, std::string>> values;
  flatten(shown, "", values);
  if (const auto plugins = run.record().find("plugins"); plugins != run.record().end() && plugins->is_array())
    for (const Json& plugin : *plugins)
      values.emplace_back(
          "plugin " + text_in(plugin, "id"),
          text_in(plugin, "version") + ", " + text_in(plugin, "file") + ", SHA-256 " + text_in(plugin, "sha256"));
  std::string rows;
  for (const auto& [key, value] : values) rows += table_row(text_element("th", "", key) + table_cell(value)) + "\n";
  return section("Environment", element("table", "class=\"environment\"", "\n" + rows) + "\n");
}

std::string format_command_line(const ReadRun& run) {
  std::string text;
  const auto words = run.record().find("command_line");
  if (words == run.record().end() || !words->is_array()) return text;
  for (const auto& word : *words)
    if (word.is_string()) text += (text.empty() ? "" : " ") + support::quote_for_shell(word.get<std::string>());
  return text;
}

std::string describe_commit(const ReadRun& run) {
  const auto git = run.record().find("git");
  const std::string commit = git == run.record().end() ? "" : text_in(*git, "commit");
  if (commit.empty()) return "";
  const std::string patch = text_in(*git, "patch");
  return fmt::format(", at commit {}{}{}", commit,
                     git->value("dirty", Json()) == true ? " with uncommitted changes" : "",
                     patch.empty() ? "" : ", which are in " + patch);
}

// Returns the checkpoint that the link names. None if it does not exist, or the link names no checkpoint.
std::optional<fs::path> find_checkpoint(const ReadRun& run, const char* link) {
  try {
    const auto checkpoint = artifacts::find_named_checkpoint(run.folder().root, link);
    return checkpoint && support::is_folder(*checkpoint) ? checkpoint : std::nullopt;
  } catch (const support::Error&) {
    return std::nullopt;
  }
}

// A failed run may leave only weights.
bool can_be_resumed(const fs::path& checkpoint) {
  try {
    return !artifacts::read_manifest(checkpoint).state.empty();
  } catch (const support::Error&) {
    return false;
  }
}

// Shell commands that repeat, resume or evaluate a run.
std::string describe_run_again(const ReadRun& run) {
  const std::string folder = support::find_canonical_or_absolute(run.folder().root).string();
  const std::string plan = support::quote_for_shell(folder + "/plan.toml");
  std::string text =
      "# repeat the run, from any folder: the plan has all defaults and absolute paths\nhost --config " + plan + "\n";
  const fs::path checkpoints = run.folder().checkpoints();
  const bool ended = artifacts::has_ended_as_planned(run.folder().record_file());
  if (!ended && std::ranges::any_of(artifacts::list_checkpoint_folders(checkpoints), can_be_resumed))
    text += fmt::format("\n# resume from the newest checkpoint\nhost --config {} --resume {}\n", plan,
                        support::quote_for_shell(folder));
  for (const char* const link : {artifacts::kBest, artifacts::kLatest}) {
    const auto checkpoint = find_checkpoint(run, link);
    if (!checkpoint) continue;
    const std::string name = support::path_exists(checkpoints / link) ? link : checkpoint->filename().string();
    text += fmt::format("\n# compute the metrics of the {} weights\nhost evaluate --config {} --checkpoint {}\n", link,
                        plan, support::quote_for_shell(folder + "/checkpoints/" + name));
    break;
  }
  if (const std::string typed = format_command_line(run); !typed.empty())
    text += fmt::format("\n# the original command, in {}{}\n{}\n", run.text("working_directory"), describe_commit(run),
                        typed);
  return text;
}

std::string format_one(const ReadRun& run) {
  const std::optional<SavedSamples> samples = read_samples(run.folder().samples());
  return format_heading(run) + format_findings(run, samples) + format_test(run) + format_charts(make_charts(run)) +
         (samples ? format_samples_section(*samples) : "") + format_stages(run) +
         section("Repeat the run", format_preformatted(describe_run_again(run))) +
         section("Configuration", format_preformatted(run.plan())) + format_model(run) + format_environment(run);
}

}  // namespace

std::string make_report_page(const std::vector<ReadRun>& runs, const std::vector<std::string>& variants) {
  const std::vector<RunLabel> labels = label_runs(runs, variants);
  const std::string title =
      runs.size() == 1 ? name_of(runs.front()) + ", " + describe_time(runs.front()) : count_runs(labels);
  return fmt::format(
      "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" "
      "content=\"width=device-width, initial-scale=1\">\n<meta name=\"color-scheme\" content=\"light "
      "dark\">\n{}\n<style>\n{}{}{}{}{}</style>\n</head>\n<body>\n<main>\n{}</main>\n</body>\n</html>\n",
      text_element("title", "", title), artifacts::chart_style(), kChartLibraryStyle, kReportStyle, kCurveStyle,
      artifacts::sample_style(),
      runs.size() == 1 ? format_one(runs.front())
                       : format_several_runs(runs, labels, format_charts(make_charts(runs, labels))));
}

void write_report(const fs::path& folder) {
  constexpr auto kKind = support::ErrorKind::system;
  const ReadRun run(folder);
  const fs::path plots = run.folder().plots();
  support::replace_with_empty_folder(plots, kKind);
  for (const Chart& chart : make_charts(run))
    artifacts::write_unsynced(plots / (make_file_name(chart.title) + ".svg"), draw_chart_file(chart), kKind);
  artifacts::write_file_durably(run.folder().report_file(), make_report_page({run}), kKind);
}

}  // namespace tenon::reporting

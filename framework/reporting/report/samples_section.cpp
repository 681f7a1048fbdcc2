#include "framework/reporting/report/report_sections.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>
#include <vector>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::reporting {

namespace {

using artifacts::Confusion;
using artifacts::format_short_number;

std::string percent(int64_t part, int64_t whole) {
  return fmt::format("{:.3g} %", 100 * static_cast<double>(part) / static_cast<double>(whole));
}

// Returns "9 → 8 (3 times), 1 → 7 (2 times)", with the names of classes if they are known.
std::string list_misclassified(const Confusion& counts, size_t most) {
  return join(counts.find_misclassified(most), ", ", [&](const Confusion::Cell& one) {
    return fmt::format("{} → {} ({} {})", config::name_class(counts.names, one.target),
                       config::name_class(counts.names, one.predicted), group_digits(one.count),
                       one.count == 1 ? "time" : "times");
  });
}

// Returns "12 of 360 (3.33 %) misclassified; most confused: 9 → 8 (3 times)".
std::string describe_mismatches(const SavedConfusion& confusion) {
  const Confusion& counts = confusion.counts;
  const int64_t total = counts.total(), wrong = total - counts.correct();
  const std::string misclassified = list_misclassified(counts, 3);
  return fmt::format("{} of {} ({}) misclassified{}", group_digits(wrong), group_digits(total), percent(wrong, total),
                     misclassified.empty() ? "" : "; most confused: " + misclassified);
}

std::string format_unions(const Confusion& counts) {
  const std::vector<int64_t> targets = counts.by_target();
  const std::vector<double> unions = counts.intersections_over_unions();
  const int64_t total = counts.total();
  std::string rows =
      table_row("<th>class</th><th class=\"number\">IoU</th><th class=\"number\">share of positions</th>");
  double sum = 0, found = 0;
  for (size_t i = 0; i < unions.size(); ++i) {
    if (std::isnan(unions[i])) continue;
    sum += unions[i];
    ++found;
    rows += "\n" + table_row(table_cell(config::name_class(counts.names, static_cast<int64_t>(i))) +
                             number_cell(format_short_number(unions[i])) + number_cell(percent(targets[i], total)));
  }
  rows += "\n" + table_row(table_cell("mean") + number_cell(format_short_number(sum / found)) + table_cell(""));
  return wide_table("", rows) + "\n";
}

std::string format_confusion(const SavedConfusion& one) {
  if (one.counts.total() == 0) return "";
  const std::string heading = text_element("h3", "", one.target + " (predicted by " + one.output + ")") + "\n" +
                              text_element("p", "", describe_mismatches(one) + ".") + "\n";
  if (!one.is_per_sample) return heading + format_unions(one.counts);
  if (one.counts.classes <= artifacts::kMaxPlottedClasses)
    return heading + element("figure", "", draw_confusion(one.counts)) + "\n";
  return heading + text_element("p", "", "Most confused: " + list_misclassified(one.counts, 20) + ".") + "\n";
}

// A chart of predictions against targets, with a dashed line where both are equal.
artifacts::Chart make_scatter_chart(const SavedNumbers& numbers, size_t column) {
  using artifacts::ChartSeries;
  std::string title = format_title(numbers.target);
  if (numbers.columns.size() > 1) title += " " + std::to_string(column + 1);
  ChartSeries dots{.name = "predicted", .line = ChartSeries::Line::none};
  double low = std::numeric_limits<double>::infinity(), high = -low;
  for (const auto& [target, predicted] : numbers.columns[column]) {
    if (!std::isfinite(target) || !std::isfinite(predicted)) continue;
    dots.points.push_back({target, predicted});
    low = std::min({low, target, predicted});
    high = std::max({high, target, predicted});
  }
  artifacts::Chart chart{title + ": predicted against actual", "actual", {}, artifacts::Chart::Scale::linear};
  if (dots.points.empty()) return chart;
  ChartSeries equal{.name = "equal", .points = {{low, low}, {high, high}}, .colour = 6};
  equal.line = ChartSeries::Line::dashed;
  chart.series = {std::move(equal), std::move(dots)};
  return chart;
}

// Returns "Mean absolute error 1.85, largest 9.2, of 81 samples".
std::string describe_errors(const std::vector<std::pair<double, double>>& column) {
  double sum = 0, largest = 0;
  int64_t count = 0;
  for (const auto& [target, predicted] : column) {
    const double error = std::fabs(predicted - target);
    if (!std::isfinite(error)) continue;
    sum += error;
    largest = std::max(largest, error);
    ++count;
  }
  return count == 0 ? "No prediction is finite."
                    : "Mean absolute error " + format_short_number(sum / static_cast<double>(count)) + ", largest " +
                          format_short_number(largest) + ", of " + support::format_count(count, "sample") + ".";
}

std::string format_numbers(const std::vector<SavedNumbers>& all) {
  std::string charts;
  for (const SavedNumbers& numbers : all)
    for (size_t i = 0; i < numbers.columns.size(); ++i) {
      const artifacts::Chart chart = make_scatter_chart(numbers, i);
      if (chart.series.empty()) continue;
      charts += element("figure", "",
                        element("figcaption", "", text_element("h3", "", chart.title)) + draw_chart(chart) +
                            text_element("p", "", describe_errors(numbers.columns[i]))) +
                "\n";
    }
  return charts.empty() ? "" : element("div", "class=\"charts\"", "\n" + charts) + "\n";
}

std::string format_sample(const SavedSample& sample) {
  std::string pictures;
  for (const artifacts::RenderedPicture& picture : sample.drawn.pictures) pictures += artifacts::embed_picture(picture);
  std::string caption =
      fmt::format("sample {}<br>{}", sample.index, format_text("loss " + format_short_number(sample.loss)));
  if (sample.drawn.pictures.size() > 1)
    caption += "<br>" + format_text(join(sample.drawn.pictures, ", ", &artifacts::RenderedPicture::name));
  for (const auto& [name, values] : sample.drawn.values) caption += "<br>" + format_text(name + ": " + values);
  // Values need more width than a small picture.
  return element("figure", pictures.empty() ? "class=\"values\"" : "", pictures + element("figcaption", "", caption)) +
         "\n";
}

std::string format_group(const std::string& heading, const std::vector<SavedSample>& samples) {
  if (samples.empty()) return "";
  std::string rendered;
  for (const SavedSample& sample : samples) rendered += format_sample(sample);
  return text_element("h3", "", heading) + "\n" + element("div", "class=\"samples\"", "\n" + rendered) + "\n";
}

std::string format_ranges(const SavedSamples& samples) {
  std::string text;
  for (const auto& [field, range] : samples.ranges)
    text += fmt::format(" In {}, black is {}, white {}.", field, format_short_number(range.smallest),
                        format_short_number(range.largest));
  return text;
}

}  // namespace

std::optional<Finding> find_misclassified(const SavedSamples& samples) {
  std::string text;
  for (const SavedConfusion& one : samples.classes)
    if (one.counts.total() > 0) text += (text.empty() ? "" : ". ") + one.target + ": " + describe_mismatches(one);
  if (text.empty()) return std::nullopt;
  return Finding{Finding::Rating::neutral, "Which classes are confused?", text + "."};
}

std::string format_samples_section(const SavedSamples& samples) {
  std::string text;
  for (const SavedConfusion& one : samples.classes) text += format_confusion(one);
  text += format_numbers(samples.numbers) + draw_legend(samples.colours) +
          format_group("Worst samples", samples.worst) + format_group("Best samples", samples.best);
  const std::string source =
      fmt::format("Selected from {}{} {} of {} by the loss of each sample, with the weights of step {}.{}",
                  samples.scored < samples.size ? "the first " + group_digits(samples.scored) + " of " : "all ",
                  group_digits(samples.size), samples.size == 1 ? "sample" : "samples", samples.data, samples.step,
                  format_ranges(samples));
  return section("Single samples", text + quiet_line(source), "id=\"samples\"");
}

}  // namespace tenon::reporting

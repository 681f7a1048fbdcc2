#include "framework/artifacts/drawing/line_chart.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/artifacts/files/encode.h"
#include "framework/formats/strings.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"

namespace tenon::artifacts {

namespace {

constexpr double kWidth = 440, kHeight = 230;           // of the image, in the units of text sizes
constexpr double kTop = 12, kRight = 20, kBottom = 34;  // margins around the curves
constexpr double kLetter = 6.7;                         // approximate width of a digit
constexpr size_t kMaxMarks = 60;
constexpr size_t kAlwaysMarked = 20;      // points of a short line
constexpr double kLogarithmicFrom = 200;  // ratio of the largest to the smallest value

struct Range {
  double low = std::numeric_limits<double>::infinity();
  double high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  bool is_empty() const { return low > high; }
};

// Returns 1, 2 or 5 times a power of ten, so that about `count` ticks fit into the range. `least`: of the distance.
double find_tick_distance(const Range& range, double count, double least) {
  const double rough = std::max((range.high - range.low) / count, least);
  const double power = std::pow(10, std::floor(std::log10(rough)));
  for (const double factor : {1.0, 2.0, 5.0})
    if (factor * power >= rough) return factor * power;
  return 10 * power;
}

std::vector<double> find_linear_ticks(const Range& range, double count, double least = 0) {
  const double distance = find_tick_distance(range, count, least);
  std::vector<double> ticks;
  for (double i = std::ceil(range.low / distance - 1e-9); i * distance <= range.high + distance * 1e-9; ++i)
    ticks.push_back(i == 0 ? 0 : i * distance);
  return ticks;
}

// Returns every power of ten, or every second or third if there are many.
std::vector<double> find_logarithmic_ticks(const Range& range) {
  const double first = std::ceil(range.low - 1e-9), last = std::floor(range.high + 1e-9);
  const double step = std::max(1.0, std::ceil((last - first) / 6));
  std::vector<double> ticks;
  for (double power = first; power <= last; power += step) ticks.push_back(power);
  return ticks;
}

// Maps values to positions on one axis of the image.
class Axis {
 public:
  Axis(Range range, double from, double to) : range_(range), from_(from), to_(to) {}
  double place(double value) const { return from_ + (value - range_.low) / (range_.high - range_.low) * (to_ - from_); }
  const Range& range() const { return range_; }

 private:
  Range range_;
  double from_, to_;
};

Range find_range(const Chart& chart, double ChartPoint::*coordinate) {
  Range range;
  for (const ChartSeries& series : chart.series)
    for (const ChartPoint& point : series.points) range.add(point.*coordinate);
  return range;
}

Range find_x_range(const Chart& chart) {
  Range range = find_range(chart, &ChartPoint::x);
  if (range.is_empty()) return {0, 1};
  if (range.low == range.high) return {range.low - 1, range.high + 1};
  if (range.low < 0.2 * range.high) range.low = std::min(range.low, 0.0);
  return range;
}

// Adds some space above and below. Extends the range to zero if zero is near.
Range widen(Range range) {
  if (range.is_empty()) return {0, 1};
  if (range.low == range.high) {
    const double margin = range.low == 0 ? 1 : 0.1 * std::fabs(range.low);
    return {range.low - margin, range.high + margin};
  }
  const double margin = 0.06 * (range.high - range.low);
  const bool begins_at_zero = range.low >= 0 && range.low < 0.3 * range.high;
  return {begins_at_zero ? 0 : range.low - margin, range.high + margin};
}

// Plots values or their logarithms.
class Picture {
 public:
  explicit Picture(const Chart& chart)
      : is_logarithmic_(is_logarithmic(chart)),
        y_range_(find_plot_range(chart)),
        y_ticks_(is_logarithmic_ ? find_logarithmic_ticks(y_range_) : find_linear_ticks(y_range_, 5)),
        left_(find_margin()),
        x_(find_x_range(chart), left_, kWidth - kRight),
        y_(y_range_, kHeight - kBottom, kTop),
        has_whole_x_(std::ranges::all_of(chart.series, [](const ChartSeries& series) {
          return std::ranges::all_of(series.points,
                                     [](const ChartPoint& point) { return std::floor(point.x) == point.x; });
        })) {}

  double x(double value) const { return x_.place(value); }
  double y(double value) const { return y_.place(is_logarithmic_ ? std::log10(value) : value); }
  bool shows(const ChartPoint& point) const { return std::isfinite(point.y) && std::isfinite(point.x); }

  std::string draw_axes(const std::string& x_label) const {
    std::string text;
    for (const double tick : y_ticks_) {
      const double place = y_.place(tick);
      text += draw_line("grid", place) + write_tick(left_ - 6, place + 4, "end", label(tick));
    }
    for (const double tick : find_linear_ticks(x_.range(), 4, has_whole_x_ ? 1 : 0))
      text += write_tick(x(tick), kHeight - kBottom + 15, "middle", format_short_number(tick));
    return text + draw_line("axis", kHeight - kBottom) +
           write_tick((left_ + kWidth - kRight) / 2, kHeight - 4, "middle", escape_html(x_label));
  }

 private:
  std::string draw_line(const char* what, double y) const {
    return fmt::format("<line class=\"{0}\" x1=\"{1:.1f}\" x2=\"{2:.1f}\" y1=\"{3:.1f}\" y2=\"{3:.1f}\"/>", what, left_,
                       kWidth - kRight, y);
  }
  static std::string write_tick(double x, double y, const char* anchor, const std::string& words) {
    return fmt::format("<text class=\"tick\" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                       words);
  }
  Range find_plot_range(const Chart& chart) const {
    const Range range = find_range(chart, &ChartPoint::y);
    if (!is_logarithmic_) return widen(range);
    const double low = std::log10(range.low), high = std::log10(range.high), margin = 0.06 * (high - low);
    return {low - margin, high + margin};
  }
  std::string label(double tick) const { return format_short_number(is_logarithmic_ ? std::pow(10, tick) : tick); }
  double find_margin() const {
    size_t longest = 3;
    for (const double tick : y_ticks_) longest = std::max(longest, label(tick).size());
    return 12 + kLetter * static_cast<double>(longest);
  }

  bool is_logarithmic_;
  Range y_range_;
  std::vector<double> y_ticks_;
  double left_;
  Axis x_, y_;
  bool has_whole_x_;  // such as steps
};

// Splits the points into stretches without gaps.
std::vector<std::vector<ChartPoint>> split_at_gaps(const std::vector<ChartPoint>& points, const Picture& picture) {
  std::vector<std::vector<ChartPoint>> stretches(1);
  for (const ChartPoint& point : points) {
    if (picture.shows(point))
      stretches.back().push_back(point);
    else if (!stretches.back().empty())
      stretches.emplace_back();
  }
  if (stretches.back().empty()) stretches.pop_back();
  return stretches;
}

const char* style_of(const ChartSeries& series) {
  switch (series.line) {
    case ChartSeries::Line::dashed: return " dashed";
    case ChartSeries::Line::faint:
    case ChartSeries::Line::none: return " faint";
    default: return "";
  }
}

std::string draw_dot(const ChartPoint& point, const Picture& picture, const char* radius, const std::string& classes,
                     const std::string& words) {
  return fmt::format("<circle class=\"{}\" cx=\"{:.1f}\" cy=\"{:.1f}\" r=\"{}\"><title>{}</title></circle>\n", classes,
                     picture.x(point.x), picture.y(point.y), radius, escape_html(words));
}

std::string describe(const ChartSeries& series, const ChartPoint& point, const std::string& x_label) {
  return fmt::format("{}, {} {}: {}", series.name, x_label, format_short_number(point.x), format_short_number(point.y));
}

std::string colour_of(const ChartSeries& series) { return fmt::format("c{}", series.colour % kChartColours); }

std::string draw_series(const ChartSeries& series, const Picture& picture, const std::string& x_label) {
  const std::string colour = colour_of(series);
  const std::string dot = "dot " + colour + style_of(series);
  const bool has_line = series.line != ChartSeries::Line::none;
  const bool has_marks = !has_line || series.points.size() <= (series.has_marks ? kMaxMarks : kAlwaysMarked);
  std::string text;
  for (const std::vector<ChartPoint>& stretch : split_at_gaps(series.points, picture)) {
    if (!has_line) break;
    if (stretch.size() == 1 && !has_marks)
      text += draw_dot(stretch[0], picture, "2", dot, describe(series, stretch[0], x_label));
    if (stretch.size() == 1) continue;
    const auto place = [&](const ChartPoint& point) {
      return fmt::format("{:.1f},{:.1f}", picture.x(point.x), picture.y(point.y));
    };
    const auto find_half_unit = [&](double x) { return std::floor(2 * picture.x(x)); };
    text += fmt::format("<polyline class=\"line {}{}\" points=\"{}\"/>\n", colour, style_of(series),
                        formats::join(thin_out(stretch, find_half_unit), " ", place));
  }
  if (has_marks)
    for (const ChartPoint& point : series.points)
      if (picture.shows(point)) text += draw_dot(point, picture, "2.4", dot, describe(series, point, x_label));
  return text;
}

// Renders a ring and its value, on the side with enough space.
std::string draw_best(const ChartSeries& series, const Picture& picture, const std::string& x_label) {
  if (!series.best || !picture.shows(*series.best)) return "";
  const ChartPoint& best = *series.best;
  const std::string colour = colour_of(series);
  const double x = picture.x(best.x), y = picture.y(best.y);
  const bool is_at_right = x > 0.75 * kWidth, is_low = y > kHeight - kBottom - 30;
  const std::string text =
      fmt::format(" x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x + (is_at_right ? 4 : -4),
                  is_low ? y - 9 : y + 18, is_at_right ? "end" : "start", format_short_number(best.y));
  return draw_dot(best, picture, "4.6", "ring " + colour, "best of " + describe(series, best, x_label)) +
         "<text class=\"halo\" aria-hidden=\"true\"" + text + "<text class=\"value " + colour + "\"" + text;
}

// The colours of Okabe and Ito, with lighter ones of the same hues for dark backgrounds.
constexpr const char* kLight[kChartColours] = {"#0067a8", "#c44900", "#00805c", "#b0578d",
                                               "#9a6b00", "#2f8fc4", "#5b5b5b", "#7048b8"};
constexpr const char* kDark[kChartColours] = {"#5cb3f0", "#ff9248", "#3ccf9f", "#e59cc6",
                                              "#e8c04a", "#8fd3ff", "#b5b5b5", "#b79cf5"};
using Colours = std::vector<std::pair<std::string, std::string>>;  // name and value of a style sheet variable

Colours list_colours(Colours colours, const char* const (&lines)[kChartColours]) {
  for (size_t i = 0; i < kChartColours; ++i) colours.emplace_back(fmt::format("c{}", i), lines[i]);
  return colours;
}

Colours light_colours() {
  return list_colours({{"paper", "#fff"}, {"ink", "#1d2127"}, {"faint", "#5c6570"}, {"rule", "#dfe3e8"}}, kLight);
}

Colours dark_colours() {
  return list_colours({{"paper", "#15181c"}, {"ink", "#e6e9ed"}, {"faint", "#9aa4b0"}, {"rule", "#2c323a"}}, kDark);
}

std::string define(const Colours& colours) {
  std::string text;
  for (const auto& [name, colour] : colours) text += "--" + name + ":" + colour + ";";
  return text;
}

std::string define_colours() {
  return ":root{" + define(light_colours()) + "}\n@media(prefers-color-scheme:dark){:root{" + define(dark_colours()) +
         "}}\n";
}

std::string rules() {
  std::string text =
      ".chart{font:12px system-ui,sans-serif}.chart .paper{fill:var(--paper)}.chart .heading{fill:var(--ink);"
      "font-size:14px;font-weight:600}.chart .grid{stroke:var(--rule);stroke-width:1}.chart .axis{stroke:var(--faint);"
      "stroke-width:1}.chart .tick{fill:var(--faint)}.chart .line{fill:none;stroke-width:1.8;stroke-linejoin:round;"
      "stroke-linecap:round}.chart .dashed{stroke-dasharray:5 4}.chart .faint{stroke-width:1.2;opacity:.75}.chart "
      ".ring{fill:none;stroke-width:1.6}.chart "
      ".value,.chart .halo{font-weight:600}.chart .halo{fill:none;stroke:var(--paper);stroke-width:3px}\n";
  for (size_t i = 0; i < kChartColours; ++i)
    text += fmt::format(
        ".chart .line.c{0},.chart .ring.c{0}{{stroke:var(--c{0})}}.chart .dot.c{0},.chart "
        ".value.c{0}{{fill:var(--c{0})}}\n",
        i);
  return text;
}

// Rules for viewers without support for CSS variables: they use the light colours and ignore the other rules.
std::string light_rules() {
  std::string text = rules();
  for (const auto& [name, colour] : light_colours()) text = formats::replace_all(text, "var(--" + name + ")", colour);
  return text;
}

std::string draw_inside(const Chart& chart) {
  const Picture picture(chart);
  std::string text = picture.draw_axes(chart.x_label);
  for (const ChartSeries& series : chart.series) text += draw_series(series, picture, chart.x_label);
  for (const ChartSeries& series : chart.series) text += draw_best(series, picture, chart.x_label);
  return text;
}

}  // namespace

bool is_logarithmic(const Chart& chart) {
  const Range range = find_range(chart, &ChartPoint::y);
  return chart.scale == Chart::Scale::automatic && !range.is_empty() && range.low > 0 &&
         range.high / range.low >= kLogarithmicFrom;
}

std::vector<ChartPoint> thin_out(const std::vector<ChartPoint>& points,
                                 const std::function<double(double)>& find_column) {
  std::vector<ChartPoint> kept;
  for (size_t begin = 0; begin < points.size();) {
    const double column = find_column(points[begin].x);
    const bool is_finite = std::isfinite(points[begin].y);
    size_t end = begin + 1, lowest = begin, highest = begin;
    for (; end < points.size() && find_column(points[end].x) == column && std::isfinite(points[end].y) == is_finite;
         ++end) {
      if (points[end].y < points[lowest].y) lowest = end;
      if (points[end].y > points[highest].y) highest = end;
    }
    std::vector<size_t> places{begin, lowest, highest, end - 1};
    std::ranges::sort(places);
    places.erase(std::unique(places.begin(), places.end()), places.end());
    for (const size_t place : places) kept.push_back(points[place]);
    begin = end;
  }
  return kept;
}

std::string draw_chart(const Chart& chart) {
  return fmt::format("<svg class=\"chart\" viewBox=\"0 0 {} {}\" role=\"img\" aria-label=\"{}\">\n{}</svg>\n", kWidth,
                     kHeight, escape_html(chart.title), draw_inside(chart));
}

std::string draw_key(const ChartSeries& series) {
  return fmt::format(
      "<svg class=\"chart key\" viewBox=\"0 0 22 6\" aria-hidden=\"true\"><line class=\"line {}{}\" x1=\"1\" x2=\"21\" "
      "y1=\"3\" y2=\"3\"/></svg>",
      colour_of(series), style_of(series));
}

std::string draw_bar(const std::vector<double>& shares) {
  constexpr double kBarWidth = 1000;
  std::string text =
      "<svg class=\"chart bar\" viewBox=\"0 0 1000 16\" preserveAspectRatio=\"none\" aria-hidden=\"true\">";
  double from = 0;
  for (size_t i = 0; i < shares.size(); ++i) {
    text += fmt::format("<rect class=\"dot c{}\" x=\"{:.1f}\" width=\"{:.1f}\" height=\"16\"/>", i % kChartColours,
                        from, kBarWidth * shares[i]);
    from += kBarWidth * shares[i];
  }
  return text + "</svg>\n";
}

std::string draw_chart_file(const Chart& chart) {
  constexpr double kTitle = 26, kRow = 18;
  const double above = kTitle + kRow * static_cast<double>(chart.series.size());
  std::string text = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 {0} {1}\" role=\"img\">\n"
      "<title>{2}</title>\n<style>{3}{4}</style>\n<rect class=\"paper\" width=\"100%\" height=\"100%\"/>\n"
      "<text class=\"heading\" x=\"12\" y=\"20\">{2}{5}</text>\n",
      kWidth, kHeight + above, escape_html(chart.title), light_rules(), chart_style(),
      is_logarithmic(chart) ? " (logarithmic)" : "");
  for (size_t i = 0; i < chart.series.size(); ++i) {
    const ChartSeries& series = chart.series[i];
    const double y = kTitle + kRow * static_cast<double>(i);
    text += fmt::format(
        "<line class=\"line {0}{1}\" x1=\"12\" x2=\"34\" y1=\"{2:.1f}\" y2=\"{2:.1f}\"/><text class=\"tick\" x=\"40\" "
        "y=\"{3:.1f}\">{4}</text>\n",
        colour_of(series), style_of(series), y + 6, y + 10, escape_html(series.name));
  }
  return fmt::format("{}<g transform=\"translate(0 {})\">\n{}</g>\n</svg>\n", text, above, draw_inside(chart));
}

std::string chart_style() { return define_colours() + rules(); }

std::string format_short_number(double number) {
  if (!std::isfinite(number)) return format_number(number);
  if (const double size = std::fabs(number); size < 1e4 || size >= 1e7) return fmt::format("{:.4g}", number);
  return support::group_digits(std::llrint(number));
}

}  // namespace tenon::artifacts

// Line charts of metrics over steps, in SVG without scripts, for a page with chart_style() or as a file.
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace tenon::artifacts {

struct ChartPoint {
  double x;
  double y;  // a value that is not finite is a gap
};

struct ChartSeries {
  enum class Line { solid, dashed, faint, none };  // none: a dot for each point

  std::string name;
  std::vector<ChartPoint> points = {};  // ordered by x
  size_t colour = 0;                    // modulo kChartColours
  Line line = Line::solid;
  bool has_marks = false;  // a dot for each point, if there are few points; very short lines always have them
  std::optional<ChartPoint> best = {};
};

inline constexpr size_t kChartColours = 8;  // distinguishable with red-green colour blindness

struct Chart {
  enum class Scale { automatic, linear };

  std::string title;
  std::string x_label;  // "step"
  std::vector<ChartSeries> series;
  Scale scale = Scale::automatic;
  std::string note = {};  // shown next to the title
};

// Whether the chart has a logarithmic axis: its scale is automatic, all values are positive, and the largest is much
// larger than the smallest.
bool is_logarithmic(const Chart& chart);

// Keeps the first, lowest, highest and last point of each column, and of each stretch of values that are not finite.
// `find_column`: of an x. A line through these points covers the same area as one through all points.
std::vector<ChartPoint> thin_out(const std::vector<ChartPoint>& points,
                                 const std::function<double(double)>& find_column);

// Returns an <svg> element. Long series are thinned out without a visible change of the line. The text scales with the
// image, which is designed for a width of about 440 pixels.
std::string draw_chart(const Chart& chart);

// Returns the line sample of a series for a legend.
std::string draw_key(const ChartSeries& series);

// Returns a stacked bar of shares of a whole, in the colours 0, 1, ...
std::string draw_bar(const std::vector<double>& shares);

// Returns a chart as a standalone file with title and legend.
std::string draw_chart_file(const Chart& chart);

// Returns the style sheet rules for draw_chart(). They follow the light or dark mode of the reader's system.
std::string chart_style();

// Formats a number for display with four significant digits: "0.02236", "12,300".
std::string format_short_number(double number);

}  // namespace tenon::artifacts

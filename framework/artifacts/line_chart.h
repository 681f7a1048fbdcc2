// Figures over steps as curves, in SVG without script: for a page, whose style sheet has chart_style(), or as a file.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace tenon::artifacts {

struct ChartPoint {
  double x;
  double y;  // what is not finite is a gap
};

struct ChartSeries {
  enum class Line { solid, dashed, faint };

  std::string name;
  std::vector<ChartPoint> points = {};  // by x
  size_t colour = 0;                    // modulo kChartColours
  Line line = Line::solid;
  bool has_marks = false;  // a dot for each point, as long as they are few
  std::optional<ChartPoint> best = {};
};

inline constexpr size_t kChartColours = 8;  // that are told apart also by people who do not tell red from green

struct Chart {
  std::string title;
  std::string x_label;  // "step"
  std::vector<ChartSeries> series;
};

// Whether its values are drawn by their logarithm: all are positive, and the largest is far from the smallest.
bool is_logarithmic(const Chart& chart);

// An <svg> element. However many points a series has, so few are drawn that their line looks the same. The size of the
// text follows that of the picture, which is made to be about 440 pixels wide.
std::string draw_chart(const Chart& chart);

// How the series is drawn, for a legend.
std::string draw_key(const ChartSeries& series);

// Shares of a whole, one behind the other, in the colours 0, 1, ...
std::string draw_bar(const std::vector<double>& shares);

// A chart as a file of its own, with title and legend.
std::string draw_chart_file(const Chart& chart);

// What of a style sheet draw_chart() needs; in light and dark as the reader's system is.
std::string chart_style();

// The number of a figure for people, four digits of it: "0.02236", "12,300".
std::string print_short_number(double number);

}  // namespace tenon::artifacts

#include "framework/reporting/report/curve_scripts.h"

#include <charconv>
#include <cmath>
#include <nlohmann/json.hpp>

#include "framework/formats/strings.h"
#include "framework/reporting/report/embedded_files.h"
#include "framework/reporting/report/html_elements.h"
#include "framework/support/text/format.h"

namespace tenon::reporting {

namespace {

using artifacts::ChartPoint;
using artifacts::ChartSeries;
using Json = nlohmann::ordered_json;

constexpr size_t kMaxPoints = 4000;  // of a series; thinned out otherwise
constexpr double kColumns = 1000;

// Steps as integers; values with six digits, which is more than a screen shows.
Json format_coordinate(double value) {
  if (!std::isfinite(value)) return nullptr;
  if (std::floor(value) == value && std::fabs(value) < 1e15) return static_cast<int64_t>(value);
  const std::string text = fmt::format("{:.6g}", value);
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

const char* name_of(ChartSeries::Line line) {
  return line == ChartSeries::Line::dashed ? "dashed" : line == ChartSeries::Line::faint ? "faint" : "solid";
}

Json format_series(const ChartSeries& series) {
  std::vector<ChartPoint> points = series.points;
  if (points.size() > kMaxPoints) {
    const double first = points.front().x, width = points.back().x - first;
    points = artifacts::thin_out(points, [&](double x) { return std::floor(kColumns * (x - first) / width); });
  }
  Json x = Json::array(), y = Json::array();
  for (const ChartPoint& point : points) {
    x.push_back(format_coordinate(point.x));
    y.push_back(format_coordinate(point.y));
  }
  Json json{{"name", series.name},
            {"colour", series.colour % artifacts::kChartColours},
            {"line", name_of(series.line)},
            {"x", x},
            {"y", y}};
  if (series.best) json["best"] = {format_coordinate(series.best->x), format_coordinate(series.best->y)};
  return json;
}

}  // namespace

const char* const kCurveStyle = R"(.controls{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem;margin:0 0 1.25rem}
.controls label{display:flex;align-items:center;gap:.5rem}.controls output{min-width:2.5em}
.charts button{margin-left:.5em;padding:0 .5em;border:1px solid var(--rule);border-radius:3px;background:none;
color:var(--faint);font:inherit;font-size:.85rem;cursor:pointer}
.charts button[aria-pressed=true]{color:var(--paper);background:var(--faint)}
.charts figcaption{display:flex;flex-wrap:wrap;align-items:baseline}
.legend [role=button]{cursor:pointer}.legend [aria-pressed=false]{opacity:.4}
.legend .pointer{min-width:6em}
.u-select{background:var(--faint);opacity:.2}.u-hz .u-cursor-x{border-right:1px solid var(--faint)}
)";

std::string format_curve_data(const artifacts::Chart& chart) {
  Json series = Json::array();
  for (const ChartSeries& one : chart.series) series.push_back(format_series(one));
  const Json json{{"xLabel", chart.x_label}, {"isLogarithmic", is_logarithmic(chart)}, {"series", series}};
  // No text of a name may end the element.
  const std::string text = json.dump(-1, ' ', true, Json::error_handler_t::replace);
  return element("script", "type=\"application/json\"", formats::replace_all(text, "<", "\\u003c"));
}

std::string format_curve_scripts() {
  return element("script", "", kChartLibrary) + "\n" + element("script", "", kCurveScript) + "\n";
}

}  // namespace tenon::reporting

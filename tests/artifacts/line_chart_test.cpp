#include "framework/artifacts/drawing/line_chart.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <sstream>

#include "framework/artifacts/files/encode.h"
#include "scratch.h"
#include "tests/messages.h"

namespace tenon::artifacts {

namespace {

Chart chart_of(std::vector<ChartPoint> points) {
  return {"loss", "step", {{.name = "train", .points = std::move(points)}}};
}

// Returns the number that follows `before` at or after `from`.
double read_number(const std::string& text, const std::string& before, size_t from = 0) {
  const size_t at = text.find(before, from);
  REQUIRE(at != text.npos);
  return std::stod(text.substr(at + before.size()));
}

using Rgb = std::array<double, 3>;  // from 0 to 1

// Returns the value of a variable in the style sheet: "#fff" or "#15181c".
Rgb read_colour(const std::string& style, const std::string& name, size_t from) {
  const std::string before = "--" + name + ":#";
  const size_t begin = style.find(before, from) + before.size();
  REQUIRE(begin >= before.size());
  std::string digits = style.substr(begin, style.find(';', begin) - begin);
  if (digits.size() == 3) digits = {digits[0], digits[0], digits[1], digits[1], digits[2], digits[2]};
  Rgb colour{};
  for (size_t c = 0; c < 3; ++c) colour[c] = std::stoi(digits.substr(2 * c, 2), nullptr, 16) / 255.0;
  return colour;
}

// The relative luminance of the Web Content Accessibility Guidelines 2.
double find_luminance(const Rgb& colour) {
  const auto linear = [](double level) {
    return level <= 0.03928 ? level / 12.92 : std::pow((level + 0.055) / 1.055, 2.4);
  };
  return 0.2126 * linear(colour[0]) + 0.7152 * linear(colour[1]) + 0.0722 * linear(colour[2]);
}

// The contrast of a line with this opacity to the paper, from 1 to 21.
double find_contrast(Rgb line, const Rgb& paper, double opacity) {
  for (size_t c = 0; c < 3; ++c) line[c] = opacity * line[c] + (1 - opacity) * paper[c];
  const double first = find_luminance(line), second = find_luminance(paper);
  return (std::max(first, second) + 0.05) / (std::min(first, second) + 0.05);
}

// Returns the points of the first curve.
std::vector<std::pair<double, double>> read_line(const std::string& svg) {
  const std::string before = "points=\"";
  const size_t begin = svg.find(before);
  REQUIRE(begin != svg.npos);
  std::istringstream stream(
      svg.substr(begin + before.size(), svg.find('"', begin + before.size()) - begin - before.size()));
  std::vector<std::pair<double, double>> places;
  for (std::string place; stream >> place;)
    places.emplace_back(std::stod(place), std::stod(place.substr(place.find(',') + 1)));
  return places;
}

}  // namespace

TEST_CASE("a curve passes through its points with steps to the right and values upwards") {
  const auto places = read_line(draw_chart(chart_of({{0, 1}, {10, 3}, {20, 2}})));
  REQUIRE(places.size() == 3);
  CHECK(places[1].first == doctest::Approx((places[0].first + places[2].first) / 2).epsilon(0.01));  // of a tenth
  CHECK(places[1].second < places[2].second);
  CHECK(places[2].second < places[0].second);
  CHECK(places[2].second == doctest::Approx((places[0].second + places[1].second) / 2).epsilon(0.01));
}

TEST_CASE("short lines have a dot for each point, and longer ones have none") {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 20; ++i) points.push_back({static_cast<double>(i), 1.0 * (i % 3)});
  CHECK(count_parts(draw_chart(chart_of(points)), "<circle") == 20);
  points.push_back({20, 0});
  CHECK(count_parts(draw_chart(chart_of(points)), "<circle") == 0);
}

// The guidelines expect a contrast of 3 for graphics. The faint line, of training, is thinner than the others.
TEST_CASE("every line is visible on light and on dark paper") {
  const std::string style = chart_style();
  const double faint = read_number(style, "opacity:", style.find(".chart .faint{"));
  for (const size_t scheme : {size_t{0}, style.find("prefers-color-scheme:dark")}) {
    REQUIRE(scheme != style.npos);
    const Rgb paper = read_colour(style, "paper", scheme);
    for (size_t i = 0; i < kChartColours; ++i) {
      CAPTURE(i);
      CHECK(find_contrast(read_colour(style, "c" + std::to_string(i), scheme), paper, 1) > 3.5);
    }
    CHECK(find_contrast(read_colour(style, "c0", scheme), paper, faint) > 3.5);
    CHECK(find_contrast(read_colour(style, "faint", scheme), paper, 1) > 4.5);  // text
  }
}

TEST_CASE("a series without a line has only dots") {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 200; ++i) points.push_back({static_cast<double>(i % 7), 1.0 * i});
  Chart chart = chart_of(points);
  chart.series.front().line = ChartSeries::Line::none;
  const std::string svg = draw_chart(chart);
  CHECK(count_parts(svg, "<circle") == 200);
  CHECK(count_parts(svg, "<polyline") == 0);
}

TEST_CASE("a chart with a linear scale has no logarithmic axis") {
  Chart chart = chart_of({{1, 1e-3}, {2, 1}});
  chart.scale = Chart::Scale::linear;
  CHECK_FALSE(is_logarithmic(chart));
}

TEST_CASE("positive values with a large range have a logarithmic axis") {
  CHECK(is_logarithmic(chart_of({{1, 1e-3}, {2, 1}})));
  CHECK_FALSE(is_logarithmic(chart_of({{1, 0.1}, {2, 1}})));
  CHECK_FALSE(is_logarithmic(chart_of({{1, 0}, {2, 1000}})));
  CHECK_FALSE(is_logarithmic(chart_of({})));
  const std::string svg = draw_chart(chart_of({{0, 1e-4}, {10, 1e-2}, {20, 1}}));
  const auto places = read_line(svg);
  CHECK(places[1].second == doctest::Approx((places[0].second + places[2].second) / 2).epsilon(0.01));
  for (const char* tick : {">0.0001<", ">0.001<", ">0.01<", ">0.1<", ">1<"}) CHECK_MESSAGE(contains(svg, tick), tick);
}

TEST_CASE("a value that is not finite is a gap, and a value between two gaps is a dot") {
  const double nan = std::numeric_limits<double>::quiet_NaN(), infinity = std::numeric_limits<double>::infinity();
  const std::string svg = draw_chart(chart_of({{1, 1}, {2, 2}, {3, nan}, {4, 3}, {5, infinity}, {6, 2}, {7, 1}}));
  CHECK(count_parts(svg, "<polyline") == 2);
  CHECK(count_parts(svg, "<circle") == 5);
  CHECK(contains(svg, "train, step 4: 3"));
  for (const char* word : {"nan", "inf"}) CHECK_FALSE(contains(svg, word));
  CHECK_FALSE(contains(draw_chart(chart_of({{1, nan}})), "nan"));
}

TEST_CASE("a curve of a million points is thinned out and keeps its peaks") {
  std::vector<ChartPoint> points;
  for (int i = 0; i < 1'000'000; ++i) points.push_back({static_cast<double>(i), i % 2 ? 1.0 : 2.0});
  points[500'001].y = 5;
  points[300'000].y = -5;
  const auto places = read_line(draw_chart(chart_of(points)));
  CHECK(places.size() < 4000);
  double highest = 1e9, lowest = 0;
  for (const auto& [x, y] : places) {
    highest = std::min(highest, y);
    lowest = std::max(lowest, y);
  }
  const auto few = read_line(draw_chart(chart_of({{0, 2}, {300'000, -5}, {500'001, 5}, {999'999, 1}})));
  CHECK(highest == doctest::Approx(few[2].second));
  CHECK(lowest == doctest::Approx(few[1].second));
}

TEST_CASE("charts of no points, of one point and of one value have axes") {
  for (const Chart& chart :
       {chart_of({}), chart_of({{5, 0.5}}), chart_of({{1, 0}, {2, 0}}), chart_of({{1, -3}, {2, -3}})}) {
    const std::string svg = draw_chart(chart);
    CHECK(contains(svg, "class=\"axis\""));
    CHECK_FALSE(contains(svg, "nan"));
    CHECK_FALSE(contains(svg, "inf"));
  }
}

TEST_CASE("steps have labels that are whole numbers") {
  CHECK(draw_chart(chart_of({{142, 1}})).find(">142<") != std::string::npos);
  CHECK(draw_chart(chart_of({{142, 1}})).find("142.5") == std::string::npos);
  CHECK(draw_chart(chart_of({{141.5, 1}, {143, 2}})).find("142.5") != std::string::npos);
}

TEST_CASE("the best value is marked and labelled") {
  Chart chart = chart_of({{1, 3}, {2, 1}, {3, 2}});
  chart.series[0].best = {2, 1};
  const std::string svg = draw_chart(chart);
  CHECK(contains(svg, "class=\"ring c0\""));
  CHECK(contains(svg, "best of train, step 2: 1"));
}

TEST_CASE("names of metrics are any text and are escaped") {
  const std::string hostile = "<script>\"a\" & b</script>\x01\xFF\xC2\x9B\xE2\x80\xAE";
  Chart chart{hostile, hostile, {{.name = hostile, .points = {{1, 1}, {2, 2}}, .has_marks = true}}};
  for (const std::string& svg : {draw_chart(chart), draw_chart_file(chart)}) {
    CHECK_FALSE(contains(svg, "<script"));
    CHECK_FALSE(contains(svg, "\x01"));
    CHECK(contains(svg, "&lt;script&gt;&quot;a&quot; &amp; b&lt;/script&gt;\\u0001\\xff\\u009b\\u202e"));
  }
}

TEST_CASE("a chart file contains its style, title and legend, and has no references") {
  Chart chart = chart_of({{1, 1}, {2, 2}});
  chart.series.push_back({.name = "validation", .points = {{1, 2}, {2, 1}}, .colour = 1});
  const std::string svg = draw_chart_file(chart);
  CHECK(svg.starts_with("<svg xmlns=\"http://www.w3.org/2000/svg\""));
  for (const char* part : {"<style>", "prefers-color-scheme:dark", ">loss<", ">train<", ">validation<"})
    CHECK_MESSAGE(contains(svg, part), part);
  CHECK(count_parts(svg, "http") == 1);
  CHECK_FALSE(contains(svg, "url("));
}

TEST_CASE("displayed numbers have at most four digits") {
  CHECK(format_short_number(0.022361) == "0.02236");
  CHECK(format_short_number(0.5) == "0.5");
  CHECK(format_short_number(12345) == "12,345");
  CHECK(format_short_number(-1234567) == "-1,234,567");
  CHECK(format_short_number(1e-5) == "1e-05");
  CHECK(format_short_number(2.5e9) == "2.5e+09");
  CHECK(format_short_number(NAN) == "NaN");
}

}  // namespace tenon::artifacts

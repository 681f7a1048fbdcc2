#include "framework/reporting/report/report_sections.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "framework/reporting/report/curve_scripts.h"
#include "framework/reporting/report/report_page.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/reporting/written_run.h"

namespace tenon::reporting {

namespace {

using artifacts::Chart;
using artifacts::ChartSeries;

std::string list_series(const Chart& chart) {
  std::string text = chart.title + ":";
  for (const ChartSeries& series : chart.series) text += " " + series.name + ";";
  return text;
}

const Chart& find_chart(const std::vector<Chart>& charts, const std::string& title) {
  const auto found = std::ranges::find(charts, title, &Chart::title);
  REQUIRE(found != charts.end());
  return *found;
}

}  // namespace

TEST_CASE("titles have neither slashes nor underscores") {
  CHECK(format_title("validation/loss") == "validation loss");
  CHECK(format_title("gradient_norm") == "gradient norm");
}

TEST_CASE("the learning rate has a linear axis") {
  const ReadRun run =
      write_run({.history = {write_line("step", 1, R"("train/loss": 1, "train/learning_rate": 1e-6)"),
                             write_line("step", 2, R"("train/loss": 1e-6, "train/learning_rate": 1)")}});
  const std::vector<Chart> charts = make_charts(run);
  CHECK_FALSE(artifacts::is_logarithmic(find_chart(charts, "learning rate")));
  CHECK(artifacts::is_logarithmic(find_chart(charts, "loss")));
}

TEST_CASE("the values of classes are in the chart of their mean") {
  const std::string metrics =
      R"("validation/iou": 0.5, "validation/iou_0": 0.9, "validation/iou_1": 0.1, "validation/mae": 1, "validation/mae_x": 2)";
  const ReadRun run = write_run({.record = R"({"directions": {"validation/iou": "max", "validation/iou_1": "max"}})",
                                 .history = {write_line("validation", 1, metrics)}});
  const std::vector<Chart> charts = make_charts(run);
  REQUIRE(charts.size() == 3);
  CHECK(list_series(charts[0]) == "iou: validation; iou_0; iou_1;");
  CHECK(charts[0].series[0].best);
  CHECK_FALSE(charts[0].series[2].best);
  CHECK(charts[0].series[1].colour != charts[0].series[2].colour);
  CHECK(list_series(charts[1]) == "mae: validation;");
  CHECK(list_series(charts[2]) == "mae x: validation;");
}

TEST_CASE("of many classes the worst ones are shown") {
  std::string metrics = R"("validation/iou": 0.5)";
  for (int i = 0; i < 20; ++i)
    metrics += ", \"validation/iou_" + std::to_string(i) + "\": " + std::to_string(1 - 0.01 * i);
  const std::vector<Chart> charts = make_charts(write_run({.history = {write_line("validation", 1, metrics)}}));
  REQUIRE(charts.size() == 1);
  CHECK(list_series(charts[0]) == "iou: validation; iou_13; iou_14; iou_15; iou_16; iou_17; iou_18; iou_19;");
  CHECK(charts[0].note == "with the 7 worst of 20");
}

TEST_CASE("the times of the steps are in one chart") {
  const ReadRun run = write_run({.history = {write_line("step", 1, R"("train/step_s": 2, "train/data_wait_s": 1)")}});
  CHECK(list_series(make_charts(run)[0]) == "milliseconds per step: whole step; waiting for data;");
  CHECK(make_charts(run)[0].series[0].points[0].y == 2000);
}

TEST_CASE("the series of several runs are named by what varies, and a variant has one colour") {
  const auto write = [](const std::string& lr, const std::string& seed) {
    return write_run({.name = "digits/" + lr + "-" + seed,
                      .plan = "[run]\nseed = " + seed + "\n[optimizer]\nlr = " + lr + "\n",
                      .history = {write_line("validation", 1, R"("validation/loss": 1)")}});
  };
  const std::vector<ReadRun> runs{write("0.1", "0"), write("0.2", "0"), write("0.1", "1"), write("0.2", "1")};
  const std::vector<Chart> charts = make_charts(runs, label_runs(runs));
  REQUIRE(charts.size() == 1);
  CHECK(list_series(charts[0]) ==
        "loss: lr=0.1, seed=0, validation; lr=0.2, seed=0, validation; lr=0.1, seed=1, validation; lr=0.2, seed=1, "
        "validation;");
  CHECK(charts[0].series[0].colour == charts[0].series[2].colour);
  CHECK(charts[0].series[0].colour != charts[0].series[1].colour);
}

namespace {

nlohmann::json read_data(const Chart& chart) {
  const std::string text = format_curve_data(chart);
  const size_t begin = text.find('>') + 1;
  return nlohmann::json::parse(text.substr(begin, text.rfind("</script>") - begin));
}

}  // namespace

TEST_CASE("the data of a chart have its points, gaps, best values and scale") {
  const double infinity = INFINITY;
  const Chart chart{
      "loss",
      "step",
      {{.name = "a", .points = {{1, 1e-3}, {2, infinity}, {2.5, 1.23456789}}, .best = artifacts::ChartPoint{1, 1e-3}},
       {.name = "b", .points = {{1, 1}}, .colour = 9, .line = ChartSeries::Line::dashed}}};
  CHECK(read_data(chart) == nlohmann::json::parse(R"({"xLabel": "step", "isLogarithmic": true, "series": [
      {"name": "a", "colour": 0, "line": "solid", "x": [1, 2, 2.5], "y": [0.001, null, 1.23457], "best": [1, 0.001]},
      {"name": "b", "colour": 1, "line": "dashed", "x": [1], "y": [1]}]})"));
}

TEST_CASE("no name of a series ends the element of its data") {
  const std::string hostile = "</script><script>alert(1)</script><!--\xff";
  const Chart chart{hostile, hostile, {{.name = hostile, .points = {{1, 1}}}}};
  CHECK(count_parts(format_curve_data(chart), "<") == 2);
  CHECK(read_data(chart)["series"][0]["name"] == "</script><script>alert(1)</script><!--\uFFFD");
}

TEST_CASE("a curve of a million points has a few thousand in the data, with its peaks and gaps") {
  std::vector<artifacts::ChartPoint> points;
  for (int i = 0; i < 1'000'000; ++i) points.push_back({1.0 * i, i % 2 ? 1.0 : 2.0});
  points[500'001].y = 5;
  points[700'000].y = NAN;
  const nlohmann::json series = read_data({"loss", "step", {{.name = "a", .points = points}}})["series"][0];
  const auto steps = series["x"].get<std::vector<int>>();
  const auto find_value = [&](int step) -> nlohmann::json {
    const auto found = std::ranges::find(steps, step);
    REQUIRE(found != steps.end());
    return series["y"][static_cast<size_t>(found - steps.begin())];
  };
  CHECK(steps.size() <= 4010);
  CHECK(steps.size() == series["y"].size());
  CHECK(steps.front() == 0);
  CHECK(steps.back() == 999'999);
  CHECK(find_value(500'001) == 5);
  CHECK(find_value(700'000).is_null());
}

TEST_CASE("a page without curves has no scripts") {
  const auto print = [](const std::vector<std::string>& history) {
    return make_report_page({write_run({.history = history})});
  };
  const std::string first = write_line("step", 1, R"("train/loss": 1)");
  CHECK(count_parts(print({first}), "<script") == 0);
  CHECK(count_parts(print({first, write_line("step", 2, R"("train/loss": 0.5)")}), "<script") == 3);
}

}  // namespace tenon::reporting

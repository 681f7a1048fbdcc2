// `host lr-find`: finds the learning rates at which the loss falls.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/drawing/line_chart.h"
#include "framework/artifacts/files/durable_file.h"
#include "framework/pipeline/checks/check_run.h"
#include "framework/pipeline/tools/learning_rate_search.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/log.h"
#include "host/command_line/command.h"
#include "host/process/signals.h"
#include "host/training/open_run.h"

namespace tenon::host {

namespace {

constexpr size_t kRows = 25;  // rows of the printed table
constexpr int kBarWidth = 40;

void print_json(const pipeline::LearningRateSearch& search) {
  using Json = nlohmann::ordered_json;
  Json json{{"suggestion", search.suggestion ? Json(search.trials[*search.suggestion].learning_rate) : Json()},
            {"diverged", search.diverged},
            {"trials", Json::array()}};
  for (const pipeline::LearningRateTrial& trial : search.trials)
    json["trials"].push_back({{"lr", trial.learning_rate}, {"loss", trial.loss}, {"smoothed", trial.smoothed}});
  reporting::write_output_json(json);
}

// Some of the trials, with the suggested one.
std::vector<size_t> choose_rows(const pipeline::LearningRateSearch& search) {
  std::vector<size_t> rows;
  const size_t stride = std::max<size_t>(1, search.trials.size() / kRows);
  for (size_t i = 0; i < search.trials.size(); ++i)
    if (i % stride == 0 || i == search.suggestion) rows.push_back(i);
  return rows;
}

void print_text(const pipeline::LearningRateSearch& search) {
  if (search.trials.empty()) {
    reporting::write_output_text("no step had a finite loss\n");
    return;
  }
  double highest = search.trials.front().smoothed;
  for (const pipeline::LearningRateTrial& trial : search.trials) highest = std::max(highest, trial.smoothed);
  reporting::write_output("{:>12}  {:>12}\n", "lr", "loss");
  for (const size_t row : choose_rows(search)) {
    const pipeline::LearningRateTrial& trial = search.trials[row];
    const int length = static_cast<int>(kBarWidth * std::clamp(trial.smoothed / highest, 0.0, 1.0));
    reporting::write_output("{:12.3g}  {:12.4g}  {}{}\n", trial.learning_rate, trial.smoothed, std::string(length, '#'),
                            row == search.suggestion ? "  <- suggestion" : "");
  }
  if (search.diverged) reporting::write_output_text("the loss diverged here\n");
  if (search.suggestion)
    reporting::write_output("the loss falls fastest at optimizer.lr = {:.2g}\n",
                            search.trials[*search.suggestion].learning_rate);
  else
    reporting::write_output_text(
        "the loss did not fall below its value at the first learning rates; lower --from, or run host overfit to find "
        "out why\n");
}

// The losses over the logarithm of the learning rate.
void write_plot(const pipeline::LearningRateSearch& search, const std::filesystem::path& file) {
  artifacts::ChartSeries losses{"loss"}, smoothed{"smoothed loss"};
  losses.line = artifacts::ChartSeries::Line::faint;
  for (const pipeline::LearningRateTrial& trial : search.trials) {
    losses.points.push_back({std::log10(trial.learning_rate), trial.loss});
    smoothed.points.push_back({std::log10(trial.learning_rate), trial.smoothed});
  }
  if (search.suggestion) smoothed.best = smoothed.points[*search.suggestion];
  const artifacts::Chart chart{
      "learning rate range test", "log10(learning rate)", {std::move(smoothed), std::move(losses)}};
  artifacts::write_file_durably(file, artifacts::draw_chart_file(chart), support::ErrorKind::system);
}

void add_lr_find_options(AddOption& add) {
  add_run_file_options(add);
  add("from", number_value("LR")->default_value(1e-7, "1e-7"), "first learning rate");
  add("to", number_value("LR")->default_value(10, "10"), "last learning rate");
  add("steps", integer_value("N")->default_value(100), "number of steps from the first to the last learning rate");
  add("plot", text_value("FILE"), "also draw the losses and the suggestion as SVG");
  add_json_option(add);
}

// Runs steps with increasing learning rates. Writes no files except the plot.
int find_learning_rate(const Arguments& arguments) {
  const auto first_rate = arguments.get<double>("from"), last_rate = arguments.get<double>("to");
  const int64_t steps = arguments.count("steps", 2);
  if (!(first_rate > 0 && last_rate > first_rate && last_rate <= 1e6))
    arguments.refuse("--from and --to are " + std::to_string(first_rate) + " and " + std::to_string(last_rate),
                     "0 < from < to <= 1e6");
  OpenedRunFile opened = open_run_file(arguments.run_file(), Computes::yes);
  keep_training_only(opened.plan);
  pipeline::Training training = pipeline::build_training(opened.plan, opened.catalogue, opened.device.device);
  for (const std::string& warning : pipeline::check_run(training)) support::log_warning(warning);
  catch_stop_signals();
  const pipeline::LearningRateSearch search =
      pipeline::search_learning_rate(training, first_rate, last_rate, steps, [] { return stop_signal() == 0; });
  if (stop_signal() != 0) return 128 + stop_signal();
  if (const std::string file = arguments.text("plot"); !file.empty()) write_plot(search, file);
  arguments.wants_json() ? print_json(search) : print_text(search);
  return 0;
}

}  // namespace

extern const Command lr_find_command{
    .name = "lr-find",
    .needed = "--config FILE",
    .purpose = "find the learning rates at which the loss falls",
    .details = "Raises the learning rate step by step and shows the loss at each step, until the loss diverges.",
    .page = "reference/run_file.md",
    .add_options = add_lr_find_options,
    .run = find_learning_rate,
    .is_for_one_process = true};

}  // namespace tenon::host

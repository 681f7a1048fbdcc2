#include "host/lr_find_command.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <string>

#include "framework/artifacts/metric_values.h"
#include "framework/pipeline/learning_rate_search.h"
#include "host/open_run.h"
#include "host/signals.h"
#include "host/standard_streams.h"

namespace tenon::host {

namespace {

constexpr size_t kRows = 25;  // rows of the printed table
constexpr int kBarWidth = 40;

void print_json(const pipeline::LearningRateSearch& search) {
  nlohmann::ordered_json json{{"suggestion", search.suggestion ? nlohmann::ordered_json(*search.suggestion) : nullptr},
                              {"diverged", search.diverged},
                              {"trials", nlohmann::ordered_json::array()}};
  for (const pipeline::LearningRateTrial& trial : search.trials)
    json["trials"].push_back({{"lr", trial.learning_rate}, {"loss", trial.loss}, {"smoothed", trial.smoothed}});
  write_output_json(json);
}

void print_text(const pipeline::LearningRateSearch& search) {
  if (search.trials.empty()) {
    write_output("no step had a finite loss\n");
    return;
  }
  double highest = search.trials.front().smoothed;
  for (const pipeline::LearningRateTrial& trial : search.trials) highest = std::max(highest, trial.smoothed);
  write_output("%12s  %12s\n", "lr", "loss");
  const size_t stride = std::max<size_t>(1, search.trials.size() / kRows);
  for (size_t i = 0; i < search.trials.size(); i += stride) {
    const pipeline::LearningRateTrial& trial = search.trials[i];
    const int length = static_cast<int>(kBarWidth * std::clamp(trial.smoothed / highest, 0.0, 1.0));
    write_output("%12.3g  %12.4g  %s\n", trial.learning_rate, trial.smoothed, std::string(length, '#').c_str());
  }
  if (search.diverged) write_output("the loss diverged here\n");
  if (search.suggestion)
    write_output("the loss falls fastest at optimizer.lr = %.2g\n", *search.suggestion);
  else
    write_output("the loss fell at no learning rate; run host overfit to find out why\n");
}

}  // namespace

int find_learning_rate(const CommandLine& line) {
  OpenedRun opened = open_run(line, Computes::yes);
  opened.plan.data.validation.clear();
  opened.plan.checkpoint.monitor.clear();
  opened.plan.schedule = {};
  pipeline::Training training = pipeline::build_training(opened.plan, opened.catalogue, opened.device.device);
  catch_stop_signals();
  const pipeline::LearningRateSearch search = pipeline::search_learning_rate(
      training, line.first_rate, line.last_rate, line.steps, [] { return stop_signal() == 0; });
  if (stop_signal() != 0) return 128 + stop_signal();
  if (line.format == CommandLine::Format::json)
    print_json(search);
  else
    print_text(search);
  return 0;
}

}  // namespace tenon::host

#include "host/overfit_command.h"

#include <cstdio>
#include <string>
#include <vector>

#include "framework/artifacts/metric_values.h"
#include "framework/pipeline/overfit.h"
#include "host/open_run.h"
#include "host/standard_streams.h"

namespace tenon::host {

namespace {

constexpr int kNotReached = 8;
constexpr size_t kMaxNames = 20;

// Trains on one batch of the first samples, with identical steps.
void prepare(config::RunPlan& plan, int64_t samples) {
  plan.data.batch_size = samples;
  plan.data.limit_batches = 1;
  plan.data.shuffle = false;
  plan.data.sampler = config::SamplerKind::uniform;
  plan.data.validation.clear();
  plan.checkpoint.monitor.clear();
  plan.train.accumulate = 1;
  plan.train.average.reset();
  plan.schedule = {};
}

void print_names(const char* title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  write_output("%s\n", title);
  for (size_t i = 0; i < names.size() && i < kMaxNames; ++i) write_output("  %s\n", names[i].c_str());
  if (names.size() > kMaxNames) write_output("  and %zu more\n", names.size() - kMaxNames);
}

void explain(const pipeline::OverfitReport& report, double learning_rate) {
  print_names("the gradient of these parameters is zero in every step: they do not affect the loss",
              report.without_gradient);
  print_names("these outputs are the same for all samples: they do not depend on the inputs", report.constant_outputs);
  if (!report.without_gradient.empty() || !report.constant_outputs.empty()) return;
  const std::string rate = artifacts::print_number(learning_rate);
  if (report.last_loss > report.first_loss)
    write_output("the loss increased: lower optimizer.lr (%s)\n", rate.c_str());
  else if (report.last_loss > 2 * report.lowest_loss)
    write_output("the loss oscillates: lower optimizer.lr (%s)\n", rate.c_str());
  else if (report.last_loss > 0.9 * report.first_loss)
    write_output(
        "the loss hardly falls: raise optimizer.lr (%s), or check with host data whether similar samples have "
        "different targets\n",
        rate.c_str());
  else
    write_output("the loss falls: try more --steps, less weight decay and dropout, or a larger optimizer.lr (%s)\n",
                 rate.c_str());
}

}  // namespace

int overfit(const CommandLine& line) {
  OpenedRun opened = open_run(line, Computes::yes);
  prepare(opened.plan, line.samples);
  pipeline::Training training = pipeline::build_training(opened.plan, opened.catalogue, opened.device.device);
  const pipeline::OverfitReport report = pipeline::overfit(training, line.steps, line.threshold);
  write_output("%lld samples: loss %.4g, after %lld steps %.4g; %s the threshold of %.4g\n",
               static_cast<long long>(report.samples), report.first_loss, static_cast<long long>(report.steps),
               report.last_loss, report.is_reached ? "below" : "NOT below", line.threshold);
  if (report.is_reached) return 0;
  explain(report, opened.plan.optimizer.lr);
  return kNotReached;
}

}  // namespace tenon::host

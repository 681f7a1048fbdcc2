// `host overfit`: tests whether the model can overfit a few samples.
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/pipeline/checks/check_run.h"
#include "framework/pipeline/tools/overfit.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"
#include "host/command_line/command.h"
#include "host/training/open_run.h"

namespace tenon::host {

namespace {

constexpr int kNotReached = 8;
constexpr size_t kMaxNames = 20;

// Trains on one batch of the first samples, with identical steps.
void plan_overfit(config::RunPlan& plan, int64_t samples) {
  keep_training_only(plan);
  plan.data.batch_size = samples;
  plan.data.limit_batches = 1;
  plan.data.shuffle = false;
  plan.data.drop_last = false;
  plan.data.sampler = config::SamplerKind::uniform;
  plan.data.repeated_augmentation = 1;
  plan.train.accumulate = 1;
  plan.train.average.reset();
}

void print_names(const char* title, const std::vector<std::string>& names) {
  if (names.empty()) return;
  reporting::write_output("{}\n", title);
  for (size_t i = 0; i < names.size() && i < kMaxNames; ++i) reporting::write_output("  {}\n", names[i]);
  if (names.size() > kMaxNames) reporting::write_output("  and {} more\n", names.size() - kMaxNames);
}

void explain(const pipeline::OverfitReport& report, double learning_rate) {
  print_names("the gradient of these parameters is zero in every step: they do not affect the loss",
              report.without_gradient);
  print_names("these outputs are the same for all samples: they do not depend on the inputs", report.constant_outputs);
  if (!report.without_gradient.empty() || !report.constant_outputs.empty()) return;
  const std::string rate = artifacts::format_number(learning_rate);
  if (report.last_loss > report.first_loss)
    reporting::write_output("the loss increased: lower optimizer.lr ({})\n", rate);
  else if (report.last_loss > 2 * report.lowest_loss)
    reporting::write_output("the loss oscillates: lower optimizer.lr ({})\n", rate);
  else if (report.last_loss > 0.9 * report.first_loss)
    reporting::write_output(
        "the loss hardly falls: raise optimizer.lr ({}), or check with host data whether similar samples have "
        "different targets\n",
        rate);
  else
    reporting::write_output(
        "the loss falls: try more --steps, a larger optimizer.lr ({}), or less weight decay, dropout and label "
        "smoothing\n",
        rate);
}

void add_overfit_options(AddOption& add) {
  add_run_file_options(add);
  add("samples", integer_value("N")->default_value(10), "number of samples to overfit");
  add("steps", integer_value("N")->default_value(500), "maximum number of steps");
  add("threshold", number_value("LOSS")->default_value(0.01, "0.01"), "stop when the loss falls below this");
}

// Trains on the first samples of the training data until the loss falls below the threshold. Writes no files.
int overfit(const Arguments& arguments) {
  const int64_t samples = arguments.count("samples", 1), steps = arguments.count("steps", 1);
  const auto threshold = arguments.get<double>("threshold");
  OpenedRunFile opened = open_run_file(arguments.run_file(), Computes::yes);
  plan_overfit(opened.plan, samples);
  pipeline::Training training = pipeline::build_training(opened.plan, opened.catalogue, opened.device.device);
  for (const std::string& warning : pipeline::check_computation(training)) support::log_warning(warning);
  const pipeline::OverfitReport report = pipeline::overfit(training, steps, threshold);
  reporting::write_output("{}: loss {:.4g}, after {} {:.4g}; {} the threshold of {:.4g}\n",
                          support::format_count(report.samples, "sample"), report.first_loss,
                          support::format_count(report.steps, "step"), report.last_loss,
                          report.is_reached ? "below" : "NOT below", threshold);
  if (report.is_reached) return 0;
  explain(report, opened.plan.optimizer.lr);
  return kNotReached;
}

}  // namespace

extern const Command overfit_command{.name = "overfit",
                                     .needed = "--config FILE",
                                     .purpose = "overfit a few samples, or report why it fails",
                                     .details =
                                         "Trains on a few samples until the loss falls below a threshold. If it does "
                                         "not, lists the tensors without gradients and the outputs that never change.",
                                     .page = "reference/run_file.md",
                                     .add_options = add_overfit_options,
                                     .run = overfit,
                                     .is_for_one_process = true};

}  // namespace tenon::host

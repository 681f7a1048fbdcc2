#include "host/training/run_start.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <iterator>
#include <optional>
#include <utility>

#include "framework/components/tensors/tensor_functions.h"
#include "framework/data/describe_data.h"
#include "framework/pipeline/build/metric_directions.h"
#include "framework/pipeline/build/model_summary.h"
#include "framework/pipeline/checks/check_lengths.h"
#include "framework/pipeline/checks/check_model.h"
#include "framework/pipeline/checks/check_run.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "host/training/use_weights.h"

namespace tenon::host {

namespace {

// Compares the data with those of the checkpoint. Returns a warning with the differences; nothing if there are none.
// Throws Error(checkpoint) if the training data differ in the middle of an epoch, because its remaining samples would
// be others.
std::optional<std::string> compare_data_with_checkpoint(const Resumption& resumption,
                                                        const artifacts::DataRecord& now) {
  const std::string folder = resumption.from.folder.string();
  const std::string train = resumption.plan.data.train.name;
  std::string warning;
  for (const auto& [name, before] : artifacts::read_data_record(resumption.from.folder / "origin.json")) {
    const auto found = now.find(name);
    if (found == now.end()) continue;
    const std::string differences = data::compare_descriptions(before, found->second);
    if (differences.empty()) continue;
    if (name == train && is_within_epoch(resumption.checkpoint.state))
      throw support::Error(
          support::ErrorKind::checkpoint,
          "{}: the data of {} have changed since it was written:{}\nexpected the same data in the middle of epoch {}, "
          "because its remaining samples would be others: restore them, resume from a checkpoint at the end of an "
          "epoch, or start a new run from the weights with model.weights",
          folder, name, differences, resumption.from.manifest.epoch);
    warning += "\n" + name + ":" + differences;
  }
  if (warning.empty()) return std::nullopt;
  return "the run resumes with data that have changed since " + folder + " was written:" + warning;
}

// Describes the training and the validation data, for the checkpoints of the run.
artifacts::DataRecord describe_run_data(const pipeline::Training& training) {
  const config::DataSection& plan = training.plan->data;
  artifacts::DataRecord record{{plan.train.name, data::describe_data(training.train->feed.dataset(), plan.train)}};
  for (size_t i = 0; i < training.validation.size(); ++i)
    record.emplace(plan.validation[i].name,
                   data::describe_data(training.validation[i]->feed.dataset(), plan.validation[i]));
  return record;
}

}  // namespace

artifacts::RunRecord make_record(const pipeline::Training& training, const components::Catalogue& catalogue,
                                 const support::ComputeDevice& device, std::vector<std::string> command_line,
                                 std::chrono::system_clock::time_point start) {
  artifacts::RunRecord record = artifacts::make_run_record(std::move(command_line), start);
  record.libtorch_version = components::torch_build();
  record.device = device;
  record.threads = at::get_num_threads();
  for (const auto& plugin : catalogue.plugins())
    record.plugins.push_back({plugin->id, plugin->version, plugin->file, plugin->sha256});
  record.data = describe_run_data(training);
  record.model_summary = pipeline::summarize_model(training.model);
  record.directions = pipeline::find_directions(training);
  record.directions.merge(pipeline::find_test_directions(training));
  if (training.monitor) {
    record.monitor = training.monitor->metric;
    record.directions[record.monitor] = training.monitor->is_larger_better ? 1 : -1;  // checkpoint.mode may differ
  }
  return record;
}

void report_checks(pipeline::Training& training, const Resumption* resumption, const TrainOptions& options) {
  const bool is_first = training.group->world().is_first();
  if (!resumption && is_first) {
    const std::filesystem::path& weights = training.plan->model.weights;
    compare_class_names(weights, training.train->feed.class_names());
    compare_fitted_data(weights, training.fitted_data);
    report_number_order(*training.plan, training.train->feed.class_names());
  }
  std::vector<std::string> warnings = pipeline::check_run(training);
  // The steps of a dry run are not those of the run.
  if (!options.is_dry_run) std::ranges::move(pipeline::check_lengths(training), std::back_inserter(warnings));
  if (resumption)
    if (const auto changed = compare_data_with_checkpoint(*resumption, describe_run_data(training)))
      warnings.push_back(*changed);
  if (is_first)
    for (const std::string& warning : warnings) support::log_warning(warning);
  pipeline::check_batch_norm(training);
}

}  // namespace tenon::host

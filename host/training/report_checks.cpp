#include "host/training/report_checks.h"

#include <algorithm>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "framework/data/describe_data.h"
#include "framework/pipeline/checks/check_model.h"
#include "framework/pipeline/checks/check_lengths.h"
#include "framework/pipeline/checks/check_run.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "host/training/make_record.h"
#include "host/training/use_class_names.h"
#include "host/training/use_weights.h"

namespace tenon::host {

namespace {

// Compares the data with those of the checkpoint. Returns a warning with the differences; nothing if there are none.
// Throws Error(checkpoint) if the training data differ in the middle of an epoch, because its remaining samples would
// be others.
std::optional<std::string> check_data(const Resumption& resumption, const artifacts::DataRecord& now) {
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
          folder + ": the data of " + name + " have changed since it was written:" + differences +
              "\nexpected the same data in the middle of epoch " + std::to_string(resumption.from.manifest.epoch) +
              ", because its remaining samples would be others: restore them, resume from a checkpoint at "
              "the end of an epoch, or start a new run from the weights with model.weights");
    warning += "\n" + name + ":" + differences;
  }
  if (warning.empty()) return std::nullopt;
  return "the run resumes with data that have changed since " + folder + " was written:" + warning;
}

}  // namespace

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
    if (const auto changed = check_data(*resumption, describe_run_data(training))) warnings.push_back(*changed);
  if (is_first) std::ranges::for_each(warnings, support::log_warning);
  pipeline::check_batch_norm(training);
}

}  // namespace tenon::host

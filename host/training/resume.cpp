#include "host/training/resume.h"

#include <ATen/Parallel.h>
#include <torch/types.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/components/kinds/parameter_roles.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/config/file/read_run_config.h"
#include "framework/config/plan/compare_plans.h"
#include "framework/formats/strings.h"
#include "framework/pipeline/build/best_metrics.h"
#include "framework/pipeline/build/infer_sizes.h"
#include "framework/pipeline/loop/checkpointed_run.h"
#include "framework/pipeline/loop/requests.h"
#include "framework/pipeline/state/saved_state.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format_values.h"
#include "host/training/checkpoint_reader.h"

namespace tenon::host {

namespace fs = std::filesystem;
using config::PlanDifference;
using config::ResumePolicy;
using support::Error;
using support::ErrorKind;

bool is_within_epoch(const pipeline::SavedState& state) {
  return state.count("epoch") > 0 && state.count("is_epoch_complete") == 0;
}

namespace {

// Whether both values are absolute paths, or lists that begin with one. Whether the data are the same is compared when
// they have been opened.
bool is_moved_path(const PlanDifference& one) {
  const auto is_path = [](const std::string& value) { return value.starts_with("\"/") || value.starts_with("[\"/"); };
  return one.key.starts_with("data.") && is_path(one.before) && is_path(one.after);
}

// Whether the run becomes longer, or a callback waits longer.
bool extends_run(const PlanDifference& one) {
  const auto before = formats::parse_number<double>(one.before), after = formats::parse_number<double>(one.after);
  if (one.key.ends_with(".min_delta")) return before && after && *after < *before;
  const bool is_length = one.key == "train.epochs" || one.key == "train.steps" || one.key.ends_with(".patience");
  return is_length && before && after && *after > *before;
}

// Returns the differences that the run may have.
std::vector<PlanDifference> check_plan(const artifacts::FoundCheckpoint& found, const config::RunPlan& plan,
                                       bool within_epoch) {
  const fs::path file = found.folder / "plan.toml";
  const std::vector<PlanDifference> all =
      config::compare_plans(support::read_text(file), config::format_run_plan(plan), file.string());
  std::vector<PlanDifference> refused, reported;
  for (const PlanDifference& one : all) {
    const ResumePolicy policy = config::find_resume_policy(one.key);
    if (policy == ResumePolicy::fixed ||
        (policy == ResumePolicy::fixed_within_epoch && within_epoch && !is_moved_path(one)))
      refused.push_back(one);
    else if (policy != ResumePolicy::ignored)
      reported.push_back(one);
  }
  if (!refused.empty())
    throw Error(ErrorKind::checkpoint,
                "{}: was written with another run file:{}\nexpected these values unchanged{}: restore them, or start a "
                "new run from the weights with model.weights",
                found.folder.string(), config::describe(refused),
                within_epoch ? fmt::format(", in the middle of epoch {}", found.manifest.epoch) : "");
  if (!reported.empty()) support::log_warning("the run resumes with another run file:" + config::describe(reported));
  return reported;
}

// Sets the memory format and the sizes that the run file leaves out to those of the run.
void complete_plan(Resumption& resumption, const components::Catalogue& catalogue) {
  config::RunPlan& plan = resumption.plan;
  if (plan.train.memory_format == config::MemoryFormat::automatic)
    plan.train.memory_format = pipeline::saved_memory_format(resumption.checkpoint.state);
  const fs::path file = resumption.from.folder / "plan.toml";
  const std::vector<pipeline::OpenSize> open = pipeline::list_open_sizes(plan, catalogue);
  if (open.empty()) return;
  const auto values = config::flatten_plan(support::read_text(file), file.string());
  for (const pipeline::OpenSize& size : open)
    if (const auto found = values.find(size.key); found != values.end())
      if (const auto* const value = std::get_if<int64_t>(&found->second.value)) pipeline::close(size, *value);
}

void check_world(const artifacts::FoundCheckpoint& found, const pipeline::SavedState& state, int64_t size,
                 bool within_epoch) {
  const int64_t before = state.count(pipeline::kWorldSize);
  if (before == size) return;
  const std::string shared =
      within_epoch ? fmt::format(", which share the remaining samples of epoch {}", found.manifest.epoch) : "";
  support::log_warning("the run had {} processes and has {} now{}: its metrics will not be the same bit for bit",
                       before, size, shared);
}

void check_libtorch(const artifacts::FoundCheckpoint& found) {
  const std::string before = artifacts::read_libtorch_build(found.folder / "origin.json");
  if (before.empty() || before == components::torch_build()) return;
  support::log_warning(
      "the checkpoint was written with LibTorch {}, and the run continues with {}: weights and metrics will not be "
      "bitwise identical, because kernels may round differently",
      before, components::torch_build());
}

}  // namespace

void report_other_processor(const Resumption& resumption, const pipeline::Training& training) {
  // The kernels of a device do not depend on the host.
  if (resumption.from.run.empty() || !training.device.is_cpu()) return;
  const auto before = artifacts::read_processor(artifacts::RunFolder{resumption.from.run}.record_file());
  const artifacts::Processor now{artifacts::read_machine().cpu, at::get_num_threads()};
  if (!before || *before == now) return;
  const auto describe = [](const artifacts::Processor& one) {
    return fmt::format("{} of {}", support::format_count(one.threads, "thread"), one.cpu);
  };
  support::log_warning(
      "the run had {}, and continues with {}: weights and metrics will not be bitwise identical, because sums on the "
      "CPU round differently",
      describe(*before), describe(now));
}

namespace {

void check_plugins(const artifacts::FoundCheckpoint& found, const components::Catalogue& catalogue) {
  const std::map<std::string, std::string> before = artifacts::read_plugin_digests(found.folder / "origin.json");
  for (const auto& plugin : catalogue.plugins()) {
    const auto known = before.find(plugin->id);
    if (known != before.end() && known->second != plugin->sha256)
      support::log_warning("the plugin {} ({}) has changed since the checkpoint was written", plugin->id,
                           plugin->file.string());
  }
}

}  // namespace

std::optional<Resumption> find_resumption(const std::string& what, int64_t attempt, const OpenedRunFile& opened,
                                          int64_t processes, distributed::ProcessGroup& group) {
  if (what.empty() && attempt == 0) return std::nullopt;
  CheckpointReader reader;
  const auto find = [&](const std::string& where) {
    return artifacts::find_checkpoint(where, opened.plan.run.output_dir, opened.plan.run.name, reader.reading());
  };
  std::optional<artifacts::FoundCheckpoint> found;
  if (group.rank() == 0) {
    if (attempt > 0) found = find("auto");
    if (!found && !what.empty()) found = find(what);
  }
  const std::string folder = group.broadcast_string("the checkpoint", found ? found->folder.string() : "");
  const std::string run = group.broadcast_string("the run of the checkpoint", found ? found->run.string() : "");
  const bool is_newest = group.broadcast_string("its place", found && found->is_newest ? "newest" : "") == "newest";
  if (!folder.empty() && !found) found = find(folder);
  if (found) {
    found->run = run;
    found->is_newest = is_newest;
  }
  group.require_equal("the checkpoint", found ? artifacts::format_checkpoint_manifest(found->manifest) : std::string());
  if (!found) return std::nullopt;
  Resumption resumption{std::move(*found), {}, opened.plan};
  resumption.checkpoint = {reader.take(/*of_model=*/true),
                           {resumption.from.manifest.state, {}},
                           {resumption.from.folder / artifacts::kManifestFile, resumption.from.manifest.excluded}};
  for (optimization::NamedTensor& one : reader.take(/*of_model=*/false))
    resumption.checkpoint.state.tensors[one.name] = std::move(one.tensor);
  // The new run folder has no copies of the previous best checkpoints.
  if (!resumption.from.is_newest) pipeline::BestMetrics::forget(resumption.checkpoint.state);
  complete_plan(resumption, opened.catalogue);
  const bool within_epoch = is_within_epoch(resumption.checkpoint.state);
  resumption.is_extended = std::ranges::any_of(check_plan(resumption.from, resumption.plan, within_epoch), extends_run);
  // The callbacks decide anew whether to stop the run. A stop that a killed run did not get to is still to be handled.
  const auto status = artifacts::read_run_status(artifacts::RunFolder{resumption.from.run}.record_file());
  const bool was_stopped = !resumption.from.run.empty() && status == artifacts::RunStatus::stopped;
  const bool forgets_stop = group.broadcast_string("the stop of the run", was_stopped ? "handled" : "") == "handled";
  if (resumption.is_extended || forgets_stop) pipeline::Requests::forget_stop(resumption.checkpoint.state);
  if (resumption.from.run.empty())
    support::log_warning(
        "{} is in no run folder, so the new run has no history before step {}, and the best checkpoints start anew",
        resumption.from.folder.string(), resumption.from.manifest.step);
  check_world(resumption.from, resumption.checkpoint.state, processes, within_epoch);
  check_libtorch(resumption.from);
  check_plugins(resumption.from, opened.catalogue);
  return resumption;
}

namespace {

bool has_all_steps(const pipeline::SavedState& state, const pipeline::Training& training) {
  // The number of steps in an epoch may have changed, and unreadable samples may leave an epoch with fewer.
  const int64_t epochs = training.plan->train.epochs;
  return epochs > 0 ? state.count("epoch") >= epochs && state.count("is_epoch_complete") == 1
                    : state.count("step") >= training.total_steps;
}

}  // namespace

std::string describe_no_work(const Resumption& resumption, const pipeline::Training& training) {
  if (resumption.from.run.empty() || !resumption.from.is_newest) return "";
  // A run that was killed after its last checkpoint has not ended: its end must still be recorded.
  const fs::path record = artifacts::RunFolder{resumption.from.run}.record_file();
  if (!artifacts::has_ended_as_planned(record)) return "";
  const std::string run = resumption.from.run.string();
  const int64_t step = resumption.from.manifest.step;
  if (artifacts::read_run_status(record) == artifacts::RunStatus::finished)
    return !has_all_steps(resumption.checkpoint.state, training)
               ? ""
               : fmt::format(
                     "{} has finished: step {} was its last step. To continue training, raise train.epochs or "
                     "train.steps",
                     run, step);
  if (resumption.is_extended) return "";
  return fmt::format(
      "{} has ended after step {}: {}. To continue training, raise the patience of the callback, or train.epochs or "
      "train.steps",
      run, step, artifacts::read_run_reason(record));
}

bool was_stopped_by_metric(const pipeline::Training& training, const pipeline::RunReport& report) {
  return report.signal == 0 && std::ranges::any_of(training.callbacks, [&](const components::Callback& callback) {
           const std::string& id = callback.component().schema.id;
           const bool is_reason = report.reason == id || report.reason.starts_with(id + ": ");
           return is_reason && !components::list_metric_parameters(callback.component()).empty();
         });
}

pipeline::BestCheckpoint read_best_checkpoint(const std::filesystem::path& run) {
  const std::filesystem::path checkpoints = artifacts::RunFolder{run}.checkpoints();
  const auto folder = artifacts::find_linked_checkpoint(checkpoints, artifacts::kBest);
  if (!folder)
    throw Error(
        ErrorKind::checkpoint,
        "{}: is missing; expected the best checkpoint of the run, for checkpoint.load_best_at_end or [data.test]",
        (checkpoints / artifacts::kBest).string());
  CheckpointReader reader;
  const artifacts::CheckpointManifest manifest = artifacts::verify_checkpoint(*folder, reader.reading());
  pipeline::BestCheckpoint best{
      manifest.step, reader.take(/*of_model=*/true), {manifest.metrics.begin(), manifest.metrics.end()}};
  best.epoch = manifest.epoch;
  best.excluded = {*folder / artifacts::kManifestFile, manifest.excluded};
  return best;
}

}  // namespace tenon::host

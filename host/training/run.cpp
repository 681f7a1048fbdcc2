#include "host/training/run.h"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <memory>
#include <optional>

#include "framework/callbacks/make_observers.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/distributed/launch/launch_ranks.h"
#include "framework/pipeline/build/infer_sizes.h"
#include "framework/pipeline/build/model_summary.h"
#include "framework/pipeline/checks/advise_device.h"
#include "framework/pipeline/checks/self_check.h"
#include "framework/pipeline/loop/train.h"
#include "framework/pipeline/state/frozen_parameters.h"
#include "framework/pipeline/tools/score_samples.h"
#include "framework/reporting/report/saved_samples.h"
#include "framework/reporting/terminal/run_output.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/diagnostics/log.h"
#include "host/process/call_reports.h"
#include "host/process/describe_failure.h"
#include "host/process/process_setup.h"
#include "host/process/signals.h"
#include "host/process/temporary_folder.h"
#include "host/training/launch.h"
#include "host/training/observers.h"
#include "host/training/open_run.h"
#include "host/training/resume.h"
#include "host/training/run_recorder.h"
#include "host/training/run_start.h"
#include "host/training/use_weights.h"

namespace tenon::host {

namespace {

// `observers`: the observers of this process. They are called before the callbacks of the plan.
pipeline::RunReport train_with_observers(pipeline::Training& training, pipeline::Recorder& recorder,
                                         std::vector<pipeline::Observer*> observers,
                                         std::optional<Resumption>& resumption, const TrainOptions& options,
                                         const components::RunDescription* description) {
  const pipeline::ModelTensors tensors(training.model);
  // Divided weights are not shown: each rank has only some of them.
  const auto callbacks = callbacks::make_observers(training.callbacks, training.plan->callbacks,
                                                   training.parameter_shards ? nullptr : &tensors, description);
  for (const auto& callback : callbacks) observers.push_back(callback.get());
  std::optional<TraceObserver> trace;
  if (options.first_traced_step > 0)
    observers.push_back(&trace.emplace(options.first_traced_step, options.last_traced_step, training.device));
  observers.insert(observers.end(), options.observers.begin(), options.observers.end());
  return pipeline::train(training, observers, recorder, {stop_signal(), save_signal()},
                         resumption ? std::optional(std::move(resumption->checkpoint)) : std::nullopt);
}

// Errors here are only logged, for example on a full disk: the error that ended the run must be reported.
void finish_failed(RunRecorder& recorder, const Failure& failure) {
  try {
    recorder.finish_checkpoint_of_failed();
  } catch (const std::exception& error) {
    support::log_warning(error.what());
  }
  try {
    recorder.finish(artifacts::RunStatus::failed, failure.message, failure.exit_code);
  } catch (const std::exception& error) {
    support::log_warning(error.what());
  }
}

// Whether load_best() has put the best weights into the model.
bool has_best_weights(const pipeline::Training& training, const pipeline::RunReport& report) {
  return training.plan->checkpoint.load_best_at_end && report.best;
}

// Errors are only logged, because no result depends on these samples. A run that a signal stopped skips them.
// `recorder`: null on a rank that only takes part, because the weights are divided over the ranks.
void add_samples(pipeline::Training& training, const pipeline::RunReport& report, RunRecorder* recorder) {
  constexpr size_t kKept = 6;  // number of best and of worst samples
  const config::RunPlan& plan = *training.plan;
  if (plan.log.samples == 0 || training.validation.empty() || report.signal != 0) return;
  components::StepContext context;
  context.step = report.state.step;
  context.epoch = report.state.epoch;
  context.seed = plan.run.seed;
  context.forward_observer = training.parameter_shards.get();
  // All ranks must run the same passes, so a signal to one of them must not end them.
  const auto should_continue = [&] { return training.parameter_shards || stop_signal() == 0; };
  try {
    const pipeline::SampleScores scores = pipeline::score_samples(training, *training.validation.front(), context,
                                                                  {plan.log.samples, kKept}, should_continue);
    if (!recorder) return;
    const components::Dataset& dataset = training.validation.front()->feed.dataset();
    recorder->add_samples(scores, has_best_weights(training, report) ? report.best->step : report.state.step,
                          reporting::find_image_details(plan, *training.validation.front(), training.model),
                          reporting::find_table_columns(plan, dataset));
  } catch (const std::exception& error) {
    support::log_warning(std::string("the report has no samples: ") + error.what());
  }
}

// The work after the last step, with the weights for evaluation. All ranks call it, because these weights may be
// divided over them. `recorder`: null on ranks other than 0.
void finish_work(pipeline::Training& training, const pipeline::RunReport& report, RunRecorder* recorder) {
  const bool has_best = has_best_weights(training, report);
  const optimization::EvaluationWeights::InPlace averaged(has_best ? nullptr : training.evaluation_weights.get());
  const auto work = [&] {
    if (recorder) recorder->finish_checkpoint();
    if (recorder && !training.parameter_shards) add_samples(training, report, recorder);
  };
  training.group->rank0_first(work);
  if (training.parameter_shards) add_samples(training, report, recorder);
}

int train_and_record(pipeline::Training& training, RunRecorder& recorder, reporting::RunOutput& output,
                     std::optional<Resumption>& resumption, const TrainOptions& options,
                     const components::RunDescription* description) {
  const auto recorded = [&] {
    return reporting::RecordedRun{recorder.folder(), recorder.lines(), recorder.last_checkpoint()};
  };
  output.open(training, recorded(), resumption ? &resumption->from : nullptr);
  try {
    HistogramObserver histograms(
        training.plan->log.histograms, training.model,
        [&recorder](int64_t step, const auto& found) { recorder.add_histograms(step, found); });
    std::vector<pipeline::Observer*> observers;
    if (output.observer()) observers.push_back(output.observer());
    if (training.plan->log.histograms.unit != config::Period::Unit::never) observers.push_back(&histograms);
    const pipeline::RunReport report =
        train_with_observers(training, recorder, std::move(observers), resumption, options, description);
    finish_work(training, report, &recorder);
    const int exit_code = report.signal != 0 ? 128 + report.signal : 0;
    const bool finished = report.end == pipeline::RunReport::End::finished;
    recorder.finish(finished ? artifacts::RunStatus::finished : artifacts::RunStatus::stopped, report.reason, exit_code,
                    &report, finished || was_stopped_by_metric(training, report));
    output.close(report, training, recorded());
    return exit_code;
  } catch (const std::exception& error) {
    finish_failed(recorder, describe_failure(error));
    throw;
  }
}

// Reports each new checkpoint to the launcher.
class CheckpointReporter final : public pipeline::Observer {
 public:
  bool subscribes(pipeline::Event event) const override {
    return event == pipeline::Event::checkpoint_before || event == pipeline::Event::checkpoint_after;
  }
  // A resumed run repeats the second event of its checkpoint.
  void on_event(pipeline::Event event, const pipeline::RunState&, pipeline::CallbackRequests&) override {
    if (event == pipeline::Event::checkpoint_after && is_new_) distributed::report_checkpoint();
    is_new_ = event == pipeline::Event::checkpoint_before;
  }

 private:
  bool is_new_ = false;
};

// Shortens the plan to one step, one batch of each validation and of the test data, and one checkpoint.
void shorten(config::RunPlan& plan, const std::filesystem::path& output_dir) {
  const config::Period each_step{config::Period::Unit::steps, 1};
  plan.run.output_dir = output_dir;
  plan.train.epochs = 0;
  plan.train.steps = 1;
  plan.data.limit_batches = plan.train.accumulate;
  plan.data.validation_limit_batches = plan.data.test_limit_batches = 1;
  if (!plan.data.validation.empty()) plan.validation.every = each_step;
  plan.checkpoint.every = plan.log.every = each_step;
}

// Trains on a rank other than 0, without output.
int train_silently(pipeline::Training& training, std::optional<Resumption>& resumption, const TrainOptions& options,
                   const components::RunDescription* description) {
  PartRecorder recorder(training.group->broadcast_string("run folder", ""), training);
  const pipeline::RunReport report = train_with_observers(training, recorder, {}, resumption, options, description);
  recorder.finish_checkpoint();
  finish_work(training, report, nullptr);  // rank 0 writes its last checkpoint and evaluates samples
  return report.signal != 0 ? 128 + report.signal : 0;
}

// Gives the plan what the checkpoint knows of the run that wrote it.
void apply_resumption(config::RunPlan& plan, const Resumption& resumption) {
  // Without frozen parameters the checkpoint has all weights, and the file of the initial ones may be missing.
  if (resumption.checkpoint.excluded.tensors.empty() && !plan.checkpoint.exclude_frozen_parameters)
    plan.model.weights.clear();
  use_class_names(plan, resumption.from.manifest.class_names, resumption.from.folder.string());
  use_fitted_data(plan, artifacts::read_fitted_data(resumption.from.folder));
}

// The plan of the run file with the values that building has found, but without what a checkpoint gave.
config::RunPlan make_recorded_plan(const OpenedRunFile& opened, const pipeline::Training& training) {
  config::RunPlan recorded = opened.plan;
  recorded.train.memory_format = training.memory_format;
  pipeline::copy_sizes(*training.plan, recorded);
  add_class_names(recorded, training.train->feed.class_names());
  return recorded;
}

// The work of --check after the run was built.
int print_checked_plan(pipeline::Training& training, config::RunPlan recorded) {
  pipeline::check_first_batch(training);
  pipeline::copy_connections(training, recorded);
  reporting::write_output_text(config::format_run_plan(recorded));
  if (std::fflush(stdout) != 0)
    throw support::Error(support::ErrorKind::system, "the plan cannot be printed: {}", strerror(errno));
  return 0;
}

// With --check, prints the plan instead of training. Does nothing if the resumed run has finished.
int build_and_train(const TrainOptions& options, reporting::RunOutput& output, const OpenedRunFile& opened,
                    int64_t attempt, distributed::ProcessGroup& group) {
  // --check is one process, whatever the number that the run would have.
  const int64_t processes = options.is_check ? opened.plan.distributed.processes : group.size();
  std::optional<Resumption> resumption = find_resumption(options.resume, attempt, opened, processes, group);
  config::RunPlan plan = resumption ? resumption->plan : opened.plan;
  if (resumption) apply_resumption(plan, *resumption);
  pipeline::Training training = pipeline::build_training(plan, opened.catalogue, opened.device.device, group);
  const config::RunPlan recorded = make_recorded_plan(opened, training);
  // Before the run folder is changed.
  if (resumption) pipeline::require_excluded(training.model, plan.model, resumption->checkpoint.excluded);
  report_checks(training, resumption ? &*resumption : nullptr, options);
  if (options.is_check) return print_checked_plan(training, recorded);
  const bool is_first = group.world().is_first();
  if (resumption && is_first) report_other_processor(*resumption, training);
  const std::string ended = resumption && is_first ? describe_no_work(*resumption, training) : "";
  if (!group.broadcast_string("the end of the run", ended).empty()) {
    if (is_first) output.say(ended);
    return 0;
  }
  if (is_first)
    for (const std::string& advice : pipeline::advise_device(training, opened.device.device))
      support::log_info("advice: " + advice);
  catch_stop_signals();
  const std::string resumed_from = resumption ? resumption->from.folder.string() : "";
  std::unique_ptr<components::RunDescription> description;
  if (!training.callbacks.empty()) description = callbacks::describe_run(recorded, resumed_from, options.is_dry_run);
  if (!is_first) return train_silently(training, resumption, options, description.get());
  restore_standard_streams();  // components were created
  RunRecorder recorder(recorded, training, opened.catalogue, opened.device.device, options.command_line,
                       resumption ? &resumption->from : nullptr);
  recorder.on_line = [&output](const artifacts::HistoryLine& written) { output.add(written); };
  group.broadcast_string("run folder", recorder.folder().string());
  return train_and_record(training, recorder, output, resumption, options, description.get());
}

std::unique_ptr<reporting::RunOutput> make_output(const TrainOptions& options) {
  if (options.is_quiet) return std::make_unique<reporting::RunOutput>();
  return options.logs_json ? reporting::make_json_output() : reporting::make_text_output();
}

int perform_dry_run(const TrainOptions& options, reporting::RunOutput& output, OpenedRunFile& opened, int64_t attempt,
                    distributed::ProcessGroup& group) {
  const TemporaryFolder folder("tenon-dry-run-");
  shorten(opened.plan, folder.path());
  const int exit_code = build_and_train(options, output, opened, attempt, group);
  if (exit_code == 0 && group.world().is_first())
    output.say("dry run: one step, its validation and a checkpoint succeeded; no files were kept");
  return exit_code;
}

// Opens the run file, joins the ranks and trains. With several ranks, an error ends this process.
int open_and_train(const TrainOptions& options, const distributed::World& world, reporting::RunOutput& output) {
  OpenedRunFile opened = open_run_file(options.file, Computes::yes, static_cast<int>(world.local_rank));
  const auto group = join_ranks(world, opened);
  CheckpointReporter reporter;
  TrainOptions observed = options;
  if (world.reports_checkpoints && world.is_first()) observed.observers.push_back(&reporter);
  try {
    const int exit_code = options.is_dry_run ? perform_dry_run(observed, output, opened, world.attempt, *group)
                                             : build_and_train(observed, output, opened, world.attempt, *group);
    group->barrier();
    return exit_code;
  } catch (const std::exception& error) {
    end_rank(*group, error);
  }
}

}  // namespace

int train_in_this_process(const TrainOptions& options, const distributed::World& world) {
  const std::unique_ptr<reporting::RunOutput> output = make_output(options);
  const int exit_code = open_and_train(options, world, *output);
  if (exit_code > 128) report_end_of_stopped_run();
  if (!options.is_dry_run) output->end();  // the files of a dry run are gone
  return exit_code;
}

}  // namespace tenon::host

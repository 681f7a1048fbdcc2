#include "host/training/run_recorder.h"

#include <utility>

#include "framework/artifacts/files/durable_file.h"
#include "framework/artifacts/run_folder/hyperparameters.h"
#include "framework/config/file/format_run_plan.h"
#include "framework/pipeline/build/infer_sizes.h"
#include "framework/reporting/report/report_page.h"
#include "framework/reporting/report/saved_samples.h"
#include "framework/reporting/runs/read_run.h"
#include "framework/support/diagnostics/log.h"
#include "framework/support/files/read_file.h"
#include "framework/support/process/signals_blocked.h"
#include "framework/support/text/format_values.h"
#include "host/process/signals.h"
#include "host/training/resume.h"
#include "host/training/run_start.h"

namespace tenon::host {

namespace {

artifacts::HistoryEvent to_history_event(pipeline::LineKind kind) {
  switch (kind) {
    case pipeline::LineKind::step: return artifacts::HistoryEvent::step;
    case pipeline::LineKind::epoch: return artifacts::HistoryEvent::epoch;
    case pipeline::LineKind::validation: return artifacts::HistoryEvent::validation;
    case pipeline::LineKind::test: return artifacts::HistoryEvent::test;
    default: return artifacts::HistoryEvent::checkpoint;
  }
}

artifacts::Retention make_retention(int64_t keep, const std::optional<pipeline::Monitor>& monitor) {
  if (!monitor) return {keep};
  return {keep, monitor->metric, monitor->is_larger_better, monitor->keep};
}

const std::string kWithoutEvents = ". The run continues without TensorBoard events";
constexpr const char* kHistoryLines = "history.lines";
constexpr const char* kEventRecords = "tensorboard.records";

artifacts::History open_history(const artifacts::RunFolder& folder, const artifacts::FoundCheckpoint* resumed_from) {
  if (!resumed_from || resumed_from->run.empty()) return {folder.history_jsonl(), folder.history_csv()};
  const pipeline::SavedState state{resumed_from->manifest.state, {}};
  return artifacts::History::resume(artifacts::RunFolder{resumed_from->run}.history_jsonl(), state.count(kHistoryLines),
                                    folder.history_jsonl(), folder.history_csv());
}

std::vector<std::string> name_losses(const config::RunPlan& plan) {
  std::vector<std::string> names;
  for (const config::LossPlan& loss : plan.losses) names.push_back(loss.name);
  return names;
}

void add_plan(artifacts::TensorboardEvents& events, const std::string& plan_text, int64_t step,
              artifacts::TimePoint now) {
  events.append(artifacts::make_text_event(now, step, "plan", "```toml\n" + plan_text + "```\n"));
}

// Adds the history of a run without an events file. The times of its lines are not known. They are reconstructed by
// counting the training time back from now.
void add_history(artifacts::TensorboardEvents& events, const std::vector<artifacts::HistoryLine>& lines,
                 const std::vector<std::string>& losses, artifacts::TimePoint now) {
  for (const artifacts::HistoryLine& line : lines) {
    const std::chrono::duration<double> before(lines.back().time_s - line.time_s);
    events.append(line, losses, now - std::chrono::duration_cast<artifacts::TimePoint::duration>(before));
  }
}

void add_pictures(artifacts::TensorboardEvents& events, const std::string& group,
                  const std::vector<reporting::SavedSample>& samples, int64_t step) {
  const auto now = std::chrono::system_clock::now();
  for (size_t i = 0; i < samples.size(); ++i)
    for (const artifacts::RenderedPicture& picture : samples[i].drawn.pictures)
      events.append(
          artifacts::make_picture_event(now, step, group + std::to_string(i + 1) + "/" + picture.name, picture));
}

artifacts::TensorboardEvents begin_events(const artifacts::RunFolder& folder, const std::string& plan_text,
                                          artifacts::TimePoint now) {
  artifacts::TensorboardEvents events(folder.root, now);
  add_plan(events, plan_text, 0, now);
  events.append(artifacts::make_hyperparameters_event(
      now, artifacts::find_hyperparameters(plan_text, folder.plan_file().string())));
  return events;
}

artifacts::TensorboardEvents resume_events(const artifacts::RunFolder& folder, const std::string& plan_text,
                                           const artifacts::FoundCheckpoint& resumed_from, int64_t lines,
                                           const std::vector<std::string>& losses, artifacts::TimePoint now) {
  const auto& state = resumed_from.manifest.state;
  const auto records = state.find(kEventRecords);
  std::optional<artifacts::TensorboardEvents> events;
  if (records != state.end() && !resumed_from.run.empty())
    events =
        artifacts::TensorboardEvents::resume(resumed_from.run, static_cast<int64_t>(records->second), folder.root, now);
  if (!events) {
    events.emplace(begin_events(folder, plan_text, now));
    if (lines > 0) add_history(*events, reporting::read_history(folder.history_jsonl()), losses, now);
  } else if (support::read_text(resumed_from.folder / "plan.toml") != plan_text) {
    add_plan(*events, plan_text, resumed_from.manifest.step, now);
  }
  return std::move(*events);
}

}  // namespace

RunRecorder::RunRecorder(const config::RunPlan& plan, const pipeline::Training& training,
                         const components::Catalogue& catalogue, const support::ComputeDevice& device,
                         std::vector<std::string> command_line, const artifacts::FoundCheckpoint* resumed_from)
    : run_json_(make_record(training, catalogue, device, std::move(command_line), std::chrono::system_clock::now())),
      plan_text_(config::format_run_plan(plan)),
      folder_(resumed_from && resumed_from->is_newest
                  ? artifacts::RunFolder{resumed_from->run}
                  : artifacts::make_run_folder(plan, run_json_.start, &stop_signal())),
      lock_(artifacts::lock_run_folder(folder_.root)),
      history_(open_history(folder_, resumed_from)),
      losses_(name_losses(plan)),
      class_names_(training.train->feed.class_names()),
      fitted_data_(training.fitted_data),
      model_sizes_(pipeline::list_model_sizes(training.plan->model, training.model.component())),
      parts_{.ranks = training.shards ? training.group->size() : 1, .has_model = training.parameter_shards != nullptr},
      checkpoint_writer_(folder_.checkpoints(), make_retention(plan.checkpoint.keep, training.monitor),
                         plan.checkpoint.asynchronous,
                         resumed_from && resumed_from->is_newest ? resumed_from->folder : std::filesystem::path()) {
  artifacts::remove_leftovers(folder_.root, support::ErrorKind::system);
  if (plan.log.tensorboard) open_events(resumed_from);
  open_log();
  if (plan.checkpoint.exclude_frozen_parameters) find_frozen_parameters(training);
  if (resumed_from) {
    run_json_.resumed_from = resumed_from->folder;
    artifacts::write_plan(folder_, plan);
    artifacts::write_run_record(folder_.record_file(), run_json_);
  } else {
    artifacts::write_unsynced(folder_.record_file(), artifacts::format_run_record(run_json_),
                              support::ErrorKind::system);
  }
  begin_first_files(plan);
}

// The thread has a copy of the record, because run.json without git is complete enough for other processes.
void RunRecorder::begin_first_files(const config::RunPlan& plan) {
  const support::SignalsBlocked signals_blocked;
  first_files_ = std::async(std::launch::async, [record = run_json_, folder = folder_, output_dir = plan.run.output_dir,
                                                 directory = artifacts::find_folder_of(plan.file)]() mutable {
    artifacts::read_git(record, directory);
    if (record.git) artifacts::keep_changes(*record.git, record.git_directory, folder.root, output_dir);
    artifacts::write_run_record(folder.record_file(), record);
    artifacts::sync_start(folder);
    return std::move(record);
  });
}

void RunRecorder::finish_first_files() {
  if (first_files_.valid()) run_json_ = first_files_.get();
}

void RunRecorder::open_events(const artifacts::FoundCheckpoint* resumed_from) {
  try {
    events_.emplace(resumed_from
                        ? resume_events(folder_, plan_text_, *resumed_from, history_.lines(), losses_, run_json_.start)
                        : begin_events(folder_, plan_text_, run_json_.start));
  } catch (const support::Error& error) {
    support::log_warning(error.what() + kWithoutEvents);
  }
}

void RunRecorder::open_log() {
  try {
    support::open_log_file(folder_.log_file());
  } catch (const support::Error& error) {
    support::log_warning(std::string(error.what()) + ". The run continues without this file");
  }
}

void RunRecorder::find_frozen_parameters(const pipeline::Training& training) {
  frozen_ = pipeline::FrozenParameters(training.model, *training.optimizer);
  if (frozen_.count() == 0)
    support::log_warning(
        "checkpoint.exclude_frozen_parameters is true, but the model has no frozen parameters, so checkpoints are "
        "complete");
  else
    support::log_info("checkpoints leave out {} frozen parameters ({})", frozen_.count(),
                      support::format_bytes(frozen_.bytes()));
}

template <class Write>
void RunRecorder::write_events(const Write& write) {
  if (!events_) return;
  try {
    write();
  } catch (const support::Error& error) {
    events_.reset();
    support::log_warning(error.what() + kWithoutEvents);
  }
}

void RunRecorder::append_line(pipeline::LineKind kind, const pipeline::RunState& progress,
                              const std::vector<std::pair<std::string, double>>& metrics) {
  checkpoint_writer_.check();
  const artifacts::HistoryLine line{to_history_event(kind), progress.epoch, progress.step, progress.time_s, metrics};
  history_.append(line);
  if (on_line) on_line(line);
  write_events([&] { events_->append(line, losses_, std::chrono::system_clock::now()); });
}

void RunRecorder::start_checkpoint(const pipeline::RunState& progress, std::span<const components::NamedTensor> tensors,
                                   const pipeline::SavedState& saved) {
  finish_first_files();
  artifacts::CheckpointContents contents{progress.epoch, progress.step, {}, {}, {}, saved.numbers, {}};
  for (const auto& [name, value] : progress.metrics)
    if (progress.validated_step == progress.step || !name.starts_with("validation/"))
      contents.metrics.emplace_back(name, value);
  contents.class_names = class_names_;
  contents.fitted_data = fitted_data_;
  contents.model_sizes = model_sizes_;
  contents.texts = {{"plan.toml", plan_text_}, {"origin.json", artifacts::format_origin(run_json_)}};
  if (!contents.state.empty()) {
    contents.parts = parts_;
    ++parts_.number;
    contents.state[kHistoryLines] = static_cast<double>(history_.lines());
    if (events_) contents.state[kEventRecords] = static_cast<double>(events_->records());
  }
  const std::vector<components::NamedTensor> kept = frozen_.exclude(tensors, contents.excluded);
  checkpoint_writer_.save(std::move(contents), kept, saved);
}

pipeline::BestCheckpoint RunRecorder::read_best_checkpoint() {
  finish_checkpoint();
  return host::read_best_checkpoint(folder_.root);
}

void RunRecorder::add_histograms(int64_t step, const std::vector<artifacts::NamedHistogram>& histograms) {
  if (histograms.empty()) return;
  write_events(
      [&] { events_->append(artifacts::make_histograms_event(std::chrono::system_clock::now(), step, histograms)); });
}

void RunRecorder::add_samples(const pipeline::SampleScores& scores, int64_t step,
                              const artifacts::ImageDetails& details, const reporting::TableColumns& columns) {
  const reporting::SavedSamples samples = reporting::draw_scores(scores, step, class_names_, details, columns);
  reporting::write_samples(samples, folder_.samples());
  write_events([&] {
    add_pictures(*events_, samples.data + "/worst/", samples.worst, step);
    add_pictures(*events_, samples.data + "/best/", samples.best, step);
  });
}

void RunRecorder::finish(artifacts::RunStatus status, const std::string& reason, int exit_code,
                         const pipeline::RunReport* report, bool is_complete) {
  finish_first_files();
  run_json_.status = status;
  run_json_.reason = reason;
  run_json_.exit_code = exit_code;
  run_json_.is_complete = is_complete;
  run_json_.peak_bytes = artifacts::read_peak_memory();
  if (report) {
    run_json_.host_waits = report->state.host_waits;
    run_json_.graph_replays = report->state.graph_replays;
    if (const auto& first = report->state.first_loss) {
      run_json_.first_loss = first->found;
      run_json_.zero_output_loss = first->zero_output;
    }
    run_json_.memory_format = to_string(report->memory_format);
    if (const auto& test = report->test) run_json_.test = {test->monitor, test->epoch, test->step, test->metrics};
    for (const pipeline::StageSeconds& stage : report->stages) run_json_.stages.emplace_back(stage.name, stage.seconds);
  }
  run_json_.end = std::chrono::system_clock::now();
  artifacts::write_run_record(folder_.record_file(), run_json_);
  write_events([&] { events_->append(artifacts::make_outcome_event(*run_json_.end, status)); });
  // Errors are only logged: `host report` can write the report again.
  try {
    reporting::write_report(folder_.root);
  } catch (const std::exception& error) {
    support::log_warning(std::string("no report: ") + error.what());
  }
}

}  // namespace tenon::host

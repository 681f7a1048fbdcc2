#include "host/run_recorder.h"

#include "framework/config/print_run_plan.h"
#include "framework/plugins/tensor_functions.h"
#include "framework/support/log.h"
#include "host/read_checkpoint.h"

namespace tenon::host {

namespace {

artifacts::RunRecord make_record(const plugins::Catalogue& catalogue, const support::ComputeDevice& device,
                                 std::vector<std::string> command_line, std::chrono::system_clock::time_point start) {
  artifacts::RunRecord record = artifacts::make_run_record(std::move(command_line), start);
  record.libtorch_version = plugins::torch_build();
  record.device = device;
  for (const auto& plugin : catalogue.plugins())
    record.plugins.push_back({plugin->id, plugin->version, plugin->file, plugin->sha256});
  return record;
}

artifacts::HistoryEvent to_history_event(pipeline::LineKind kind) {
  switch (kind) {
    case pipeline::LineKind::step: return artifacts::HistoryEvent::step;
    case pipeline::LineKind::epoch: return artifacts::HistoryEvent::epoch;
    case pipeline::LineKind::validation: return artifacts::HistoryEvent::validation;
    default: return artifacts::HistoryEvent::checkpoint;
  }
}

artifacts::Retention make_retention(int64_t keep, const std::optional<pipeline::Monitor>& monitor) {
  if (!monitor) return {keep};
  return {keep, monitor->figure, monitor->is_larger_better, monitor->keep};
}

constexpr const char* kHistoryLines = "history.lines";

artifacts::History open_history(const artifacts::RunFolder& folder, const artifacts::FoundCheckpoint* resumed_from) {
  if (!resumed_from) return {folder.history_jsonl(), folder.history_csv()};
  const auto lines = resumed_from->manifest.state.find(kHistoryLines);
  return artifacts::History::resume(
      artifacts::RunFolder{resumed_from->run}.history_jsonl(),
      lines == resumed_from->manifest.state.end() ? 0 : static_cast<int64_t>(lines->second), folder.history_jsonl(),
      folder.history_csv());
}

}  // namespace

RunRecorder::RunRecorder(const config::RunPlan& plan, const std::optional<pipeline::Monitor>& monitor,
                         const plugins::Catalogue& catalogue, const support::ComputeDevice& device,
                         std::vector<std::string> command_line, const artifacts::FoundCheckpoint* resumed_from)
    : record_(make_record(catalogue, device, std::move(command_line), std::chrono::system_clock::now())),
      plan_text_(config::print_run_plan(plan)),
      folder_(resumed_from && resumed_from->is_newest ? artifacts::RunFolder{resumed_from->run}
                                                      : artifacts::make_run_folder(plan, record_.start)),
      lock_(artifacts::lock_run_folder(folder_.root)),
      history_(open_history(folder_, resumed_from)),
      checkpoints_(folder_.checkpoints(), make_retention(plan.checkpoint.keep, monitor), plan.checkpoint.asynchronous) {
  support::open_log_file(folder_.log_file());
  if (resumed_from) {
    record_.resumed_from = resumed_from->folder;
    artifacts::write_plan(folder_, plan);
  }
  artifacts::write_run_record(folder_.record_file(), record_);
}

void RunRecorder::record(pipeline::LineKind kind, const pipeline::RunState& state,
                         const std::vector<std::pair<std::string, double>>& figures) {
  checkpoints_.check();
  history_.append({to_history_event(kind), state.epoch, state.step, state.time_s, figures});
}

void RunRecorder::save_checkpoint(const pipeline::RunState& state, std::span<const plugins::NamedTensor> tensors,
                                  const pipeline::SavedState& saved) {
  artifacts::CheckpointContents contents{state.epoch, state.step, {}, {}, {}, saved.numbers, {}};
  for (const auto& [name, value] : state.figures)
    if (state.validated_step == state.step || !name.starts_with("validation/"))
      contents.figures.emplace_back(name, value);
  contents.texts = {{"plan.toml", plan_text_}, {"origin.json", artifacts::print_origin(record_)}};
  if (!contents.state.empty()) contents.state[kHistoryLines] = static_cast<double>(history_.lines());
  checkpoints_.save(std::move(contents), tensors, saved);
}

pipeline::BestCheckpoint RunRecorder::read_best_checkpoint() {
  finish_checkpoint();
  return host::read_best_checkpoint(folder_.root);
}

void RunRecorder::finish(artifacts::RunStatus status, const std::string& reason, int exit_code,
                         const pipeline::RunReport* report) {
  record_.status = status;
  record_.reason = reason;
  record_.exit_code = exit_code;
  record_.peak_bytes = artifacts::read_peak_memory();
  if (report) {
    record_.host_waits = report->state.host_waits;
    for (const pipeline::StageSeconds& stage : report->stages) record_.stages.emplace_back(stage.name, stage.seconds);
  }
  record_.end = std::chrono::system_clock::now();
  artifacts::write_run_record(folder_.record_file(), record_);
}

}  // namespace tenon::host

#include "host/run_recorder.h"

#include "framework/plugins/tensor_functions.h"
#include "framework/plugins/tensor_handles.h"
#include "framework/support/log.h"

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

}  // namespace

RunRecorder::RunRecorder(const config::RunPlan& plan, const plugins::Catalogue& catalogue,
                         const support::ComputeDevice& device, std::vector<std::string> command_line)
    : record_(make_record(catalogue, device, std::move(command_line), std::chrono::system_clock::now())),
      folder_(artifacts::make_run_folder(plan, record_.start)),
      history_(folder_.history_jsonl(), folder_.history_csv()),
      checkpoints_(folder_.checkpoints(), plan.checkpoint.keep) {
  support::open_log_file(folder_.log_file());
  artifacts::write_run_record(folder_.record_file(), record_);
}

void RunRecorder::record(pipeline::LineKind kind, const pipeline::RunState& state,
                         const std::vector<std::pair<std::string, double>>& figures) {
  history_.append({to_history_event(kind), state.epoch, state.step, state.time_s, figures});
}

void RunRecorder::save_checkpoint(const pipeline::RunState& state, std::span<const plugins::NamedTensor> tensors) {
  std::vector<at::Tensor> on_cpu;  // keeps alive what the views point to
  std::vector<artifacts::TensorView> views;
  for (const plugins::NamedTensor& named : tensors) {
    const at::Tensor& tensor = on_cpu.emplace_back(named.tensor.detach().cpu().contiguous());
    views.push_back({named.name, plugins::to_dtype(tensor.scalar_type()), tensor.sizes().vec(),
                     static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()});
  }
  artifacts::Figures figures;
  for (const auto& [name, value] : state.figures)
    if (state.validated_step == state.step || !name.starts_with("validation/")) figures.emplace_back(name, value);
  last_checkpoint_ = checkpoints_.write({state.epoch, state.step, figures, views});
}

void RunRecorder::finish(artifacts::RunStatus status, const std::string& reason, int exit_code,
                         std::optional<int64_t> host_waits) {
  record_.status = status;
  record_.reason = reason;
  record_.exit_code = exit_code;
  record_.host_waits = host_waits;
  record_.end = std::chrono::system_clock::now();
  artifacts::write_run_record(folder_.record_file(), record_);
}

}  // namespace tenon::host

#include "framework/reporting/terminal/run_output.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <system_error>

#include "framework/artifacts/run_folder/machine.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/callbacks/progress.h"
#include "framework/pipeline/build/model_summary.h"
#include "framework/pipeline/device/device_memory.h"
#include "framework/reporting/runs/read_history.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/print_bytes.h"
#include "framework/support/print_count.h"
#include "framework/support/quote_for_shell.h"

namespace tenon::reporting {

namespace {

// The path from the current folder, if it is below that.
std::string show_path(const std::filesystem::path& path) {
  std::error_code failed;
  const std::filesystem::path relative = path.lexically_relative(std::filesystem::current_path(failed));
  return failed || relative.empty() || *relative.begin() == ".." ? path.string() : relative.string();
}

void print_data(const std::string& label, const pipeline::BoundDataset& data) {
  write_output("  %-12s %s: %s, %s of %lld\n", label.c_str(), data.feed.dataset().component().schema.id.c_str(),
               support::print_count(data.feed.sampler().size(), "sample").c_str(),
               support::print_count(data.feed.batches(), "batch", "batches").c_str(),
               static_cast<long long>(data.feed.batch_size()));
}

void print_change(const config::ScheduledDataset& later) {
  write_output("  from epoch %lld:", static_cast<long long>(later.at_epoch));
  for (const auto& [name, value] : later.changed)
    write_output(" %s = %s", name.c_str(), config::to_toml(value).c_str());
  write_output("\n");
}

void print_opening(const pipeline::Training& training, const RecordedRun& recorded,
                   const artifacts::FoundCheckpoint* resumed_from) {
  const plugins::Component& model = training.model.component();
  write_output("model %s (%s %s)\n%s", model.schema.id.c_str(), model.plugin->id.c_str(), model.plugin->version.c_str(),
               pipeline::summarize_model(training.model).c_str());
  write_output("data\n");
  print_data("train", *training.train);
  for (const config::ScheduledDataset& later : training.plan->data.scheduled_train) print_change(later);
  for (const auto& data : training.validation) print_data(data->name(), *data);
  for (const auto& data : training.test) print_data(data->name(), *data);
  write_output("run folder %s\n", show_path(recorded.folder).c_str());
  if (resumed_from)
    write_output("resumed from %s (epoch %lld, step %lld)%s\n", resumed_from->folder.c_str(),
                 static_cast<long long>(resumed_from->manifest.epoch),
                 static_cast<long long>(resumed_from->manifest.step),
                 resumed_from->has_run_crashed ? " of a run that crashed" : "");
  std::fflush(stdout);
}

// Returns "forward 41 %, backward 30 %, data 12 %", longest first. Stages below half a percent are omitted.
std::string describe_stages(std::vector<pipeline::StageSeconds> stages) {
  std::ranges::sort(stages, std::greater(), &pipeline::StageSeconds::seconds);
  double sum = 0;
  for (const pipeline::StageSeconds& stage : stages) sum += stage.seconds;
  std::string text;
  for (const pipeline::StageSeconds& stage : stages) {
    char share[32];
    std::snprintf(share, sizeof share, " %.0f %%", 100 * stage.seconds / sum);
    if (stage.seconds / sum >= 0.005) text += (text.empty() ? "" : ", ") + stage.name + share;
  }
  return text;
}

// Prints the time and memory of the run, with advice if it was slow.
void print_costs(const pipeline::RunReport& report, const pipeline::Training& training) {
  constexpr double kTooShortForAdvice = 5;  // seconds
  write_output("time: %s\n", describe_stages(report.stages).c_str());
  if (report.state.time_s >= kTooShortForAdvice)
    if (const std::string advice = pipeline::advise(report.stages, training.plan->data.workers); !advice.empty())
      write_output("%s\n", advice.c_str());
  write_output("peak memory: %s", support::print_bytes(static_cast<uint64_t>(artifacts::read_peak_memory())).c_str());
  if (const auto device = pipeline::peak_memory(training.device))
    write_output(
        ", %.1f MiB on the device (%.1f MiB reserved); training synchronised with the device %lld times and replayed "
        "%lld batches as a CUDA graph",
        device->allocated, device->reserved, static_cast<long long>(report.state.host_waits),
        static_cast<long long>(report.state.graph_replays));
  write_output("\n");
}

void print_test(const pipeline::TestResults& test) {
  write_output("test with the %s weights, of step %lld%s\n", test.monitor.empty() ? "last" : "best",
               static_cast<long long>(test.step), test.monitor.empty() ? "" : (", by " + test.monitor).c_str());
  for (const auto& [name, value] : test.metrics)
    write_output("  %s %s", name.c_str(), callbacks::format_metric(value).c_str());
  write_output("\n");
}

void print_closing(const pipeline::RunReport& report, const pipeline::Training& training, const RecordedRun& recorded) {
  const bool finished = report.end == pipeline::RunReport::End::finished;
  write_output("%s after %s in %s", finished ? "finished" : "stopped",
               support::print_count(report.state.step, "step").c_str(),
               callbacks::format_duration(report.state.time_s).c_str());
  if (!finished) write_output(" (%s)", report.reason.c_str());
  for (const auto& [name, value] : report.state.metrics)
    if (report.state.validated_step == report.state.step && name.starts_with("validation/"))
      write_output("  %s %s", name.c_str(), callbacks::format_metric(value).c_str());
  write_output("\n");
  print_costs(report, training);
  write_output("weights in %s\n", show_path(recorded.last_checkpoint / artifacts::kModelFile).c_str());
  if (report.best)
    write_output(
        "best %s %s, after step %lld, in\n  %s\n", training.monitor->metric.c_str(),
        callbacks::format_metric(report.best->value).c_str(), static_cast<long long>(report.best->step),
        show_path(artifacts::RunFolder{recorded.folder}.checkpoints() / artifacts::kBest / artifacts::kModelFile)
            .c_str());
  if (report.test) print_test(*report.test);
  if (report.signal != 0)
    write_output("the checkpoint is saved; continue with\n  host %s --resume %s\n",
                 support::quote_for_shell(show_path(recorded.folder / "plan.toml")).c_str(),
                 support::quote_for_shell(show_path(recorded.folder)).c_str());
}

class TextOutput final : public RunOutput {
 public:
  void open(const pipeline::Training& training, const RecordedRun& recorded,
            const artifacts::FoundCheckpoint* resumed_from) override {
    print_opening(training, recorded, resumed_from);
    if (training.monitor) progress_.set_monitor(training.monitor->metric, training.monitor->is_larger_better);
    if (resumed_from) add_earlier(recorded);
  }
  void say(const std::string& sentence) override { write_output("%s\n", sentence.c_str()); }
  pipeline::Observer* observer() override { return &progress_; }
  void close(const pipeline::RunReport& report, const pipeline::Training& training,
             const RecordedRun& recorded) override {
    print_closing(report, training, recorded);
  }

 private:
  void add_earlier(const RecordedRun& recorded) {
    if (recorded.lines == 0) return;  // it was interrupted before the first metric
    for (const artifacts::HistoryLine& line : read_history(artifacts::RunFolder{recorded.folder}.history_jsonl()))
      if (line.event == artifacts::HistoryEvent::validation)
        progress_.add_earlier({line.metrics.begin(), line.metrics.end()});
  }

  callbacks::Progress progress_{stdout};
};

}  // namespace

std::unique_ptr<RunOutput> make_text_output() { return std::make_unique<TextOutput>(); }

}  // namespace tenon::reporting

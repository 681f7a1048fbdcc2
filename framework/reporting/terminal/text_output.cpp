#include "framework/reporting/terminal/run_output.h"

#include <algorithm>
#include <cstdio>
#include <filesystem>
#include <functional>
#include <string>
#include <system_error>
#include <vector>

#include "framework/artifacts/run_folder/machine.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/callbacks/progress.h"
#include "framework/pipeline/build/model_summary.h"
#include "framework/pipeline/device/device_memory.h"
#include "framework/reporting/runs/read_history.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/terminal.h"
#include "framework/support/text/wrap_text.h"

namespace tenon::reporting {

namespace {

// One column stays free because some terminals would wrap. 0: no terminal.
size_t find_width() {
  const size_t width = support::find_terminal_width(stdout);
  return width > 0 ? width - 1 : 0;
}

void print_parts(const std::vector<std::string>& parts, const std::string& separator) {
  write_output_text(support::wrap_parts(parts, separator, find_width()) + "\n");
}

// Prints a path on the line of its label, or on the next one, or the path in `folder` if it would not fit otherwise.
void print_path(const std::string& label, const std::filesystem::path& path, const std::filesystem::path& folder) {
  const size_t width = find_width();
  const std::string shown = support::show_path(path);
  if (width == 0 || label.size() + 1 + shown.size() <= width)
    write_output("%s %s\n", label.c_str(), shown.c_str());
  else if (shown.size() + 2 <= width || folder.empty())
    write_output("%s\n  %s\n", label.c_str(), shown.c_str());
  else {
    print_parts({label, "the run folder:"}, " ");
    write_output("  %s\n", path.lexically_relative(folder).c_str());
  }
}

// Returns the path, or the folder of its run if the path does not fit.
std::string show_checkpoint(const std::filesystem::path& folder) {
  const size_t width = find_width();
  if (width == 0) return folder.string();
  const std::string shown = support::show_path(folder);
  return shown.size() + 2 <= width ? shown : support::show_path(folder.parent_path().parent_path());
}

std::string format_metric(const std::string& name, double value) {
  return name + " " + callbacks::format_metric(value);
}

void print_data(const std::string& label, const pipeline::BoundDataset& data) {
  write_output("  %-12s %s: %s, %s of %lld\n", label.c_str(), data.feed.dataset().component().schema.id.c_str(),
               support::format_count(data.feed.sampler().size(), "sample").c_str(),
               support::format_count(data.feed.batches(), "batch", "batches").c_str(),
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
  const components::Component& model = training.model.component();
  write_output("model %s (%s %s)\n%s", model.schema.id.c_str(), model.plugin->id.c_str(), model.plugin->version.c_str(),
               pipeline::summarize_model(training.model, find_width()).c_str());
  write_output("data\n");
  print_data("train", *training.train);
  for (const config::ScheduledDataset& later : training.plan->data.scheduled_train) print_change(later);
  for (const auto& data : training.validation) print_data(data->name(), *data);
  for (const auto& data : training.test) print_data(data->name(), *data);
  print_path("run folder", recorded.folder, {});
  if (resumed_from)
    print_parts({"resumed from", show_checkpoint(resumed_from->folder),
                 "(epoch " + std::to_string(resumed_from->manifest.epoch) + ", step " +
                     std::to_string(resumed_from->manifest.step) + ")" +
                     (resumed_from->has_run_crashed ? " of a run that crashed" : "")},
                " ");
  std::fflush(stdout);
}

// Returns "forward 41 %", "backward 30 %", ..., longest first. Stages below half a percent are omitted.
std::vector<std::string> describe_stages(std::vector<pipeline::StageSeconds> stages) {
  std::ranges::sort(stages, std::greater(), &pipeline::StageSeconds::seconds);
  double sum = 0;
  for (const pipeline::StageSeconds& stage : stages) sum += stage.seconds;
  std::vector<std::string> shares;
  for (const pipeline::StageSeconds& stage : stages) {
    char share[32];
    std::snprintf(share, sizeof share, " %.0f %%", 100 * stage.seconds / sum);
    if (stage.seconds / sum >= 0.005) shares.push_back(stage.name + share);
  }
  return shares;
}

// Prints the time and memory of the run, with advice if it was slow.
void print_costs(const pipeline::RunReport& report, const pipeline::Training& training) {
  constexpr double kTooShortForAdvice = 5;  // seconds
  std::vector<std::string> shares = describe_stages(report.stages);
  if (!shares.empty()) shares.front() = "time: " + shares.front();
  print_parts(shares, ", ");
  if (report.state.time_s >= kTooShortForAdvice)
    if (const std::string advice = pipeline::advise(report.stages, training.plan->data.workers); !advice.empty())
      write_output("%s\n", support::wrap_words(advice, find_width()).c_str());
  std::string memory = "peak memory: " + support::format_bytes(static_cast<uint64_t>(artifacts::read_peak_memory()));
  if (const auto device = pipeline::peak_memory(training.device)) {
    char text[128];
    std::snprintf(text, sizeof text, ", %.1f MiB on the device (%.1f MiB reserved)", device->allocated,
                  device->reserved);
    memory += text;
    memory += "; training synchronised with the device " + support::format_count(report.state.host_waits, "time") +
              " and replayed " + support::format_count(report.state.graph_replays, "batch", "batches") +
              " as a CUDA graph";
  }
  write_output("%s\n", support::wrap_words(memory, find_width()).c_str());
}

void print_test(const pipeline::TestResults& test) {
  write_output("test with the %s weights, of step %lld%s\n", test.monitor.empty() ? "last" : "best",
               static_cast<long long>(test.step), test.monitor.empty() ? "" : (", by " + test.monitor).c_str());
  std::vector<std::string> metrics;
  for (const auto& [name, value] : test.metrics) metrics.push_back(format_metric(name, value));
  if (!metrics.empty()) metrics.front() = "  " + metrics.front();
  print_parts(metrics, "  ");
}

// The command that resumes an interrupted run. It is one line, or several that a shell reads as one.
void print_continuation(const std::filesystem::path& folder) {
  const std::string plan = support::quote_for_shell(support::show_path(folder / "plan.toml"));
  const std::string resume = "--resume " + support::quote_for_shell(support::show_path(folder));
  const std::string line = "  host " + plan + " " + resume, line_break = " \\\n    ";
  const size_t width = find_width();
  const bool fits = width == 0 || line.size() <= width;
  const bool has_short_plan = 7 + plan.size() + 2 <= width;  // "  host PLAN \"
  write_output("Interrupted. Checkpoint saved; continue with:\n%s\n",
               (fits ? line : "  host" + (has_short_plan ? " " : line_break) + plan + line_break + resume).c_str());
}

void print_closing(const pipeline::RunReport& report, const pipeline::Training& training, const RecordedRun& recorded) {
  const bool finished = report.end == pipeline::RunReport::End::finished;
  std::vector<std::string> parts{std::string(finished ? "finished" : "stopped") + " after " +
                                 support::format_count(report.state.step, "step") + " in " +
                                 callbacks::format_elapsed(report.state.time_s)};
  if (!finished) parts.front() += " (" + report.reason + ")";
  for (const auto& [name, value] : report.state.metrics)
    if (report.state.validated_step == report.state.step && name.starts_with("validation/"))
      parts.push_back(format_metric(name, value));
  print_parts(parts, "  ");
  print_costs(report, training);
  print_path("weights in", artifacts::find_model_file(recorded.last_checkpoint), recorded.folder);
  if (report.best)
    print_path("best " + format_metric(training.monitor->metric, report.best->value) + ", after step " +
                   std::to_string(report.best->step) + ", in",
               artifacts::find_model_file(artifacts::RunFolder{recorded.folder}.checkpoints() / artifacts::kBest),
               recorded.folder);
  if (report.test) print_test(*report.test);
}

class TextOutput final : public RunOutput {
 public:
  void open(const pipeline::Training& training, const RecordedRun& recorded,
            const artifacts::FoundCheckpoint* resumed_from) override {
    print_opening(training, recorded, resumed_from);
    if (training.monitor) progress_.set_monitor(training.monitor->metric, training.monitor->is_larger_better);
    if (resumed_from) add_earlier(recorded);
  }
  void say(const std::string& sentence) override {
    write_output("%s\n", support::wrap_words(sentence, find_width()).c_str());
  }
  pipeline::Observer* observer() override { return &progress_; }
  void close(const pipeline::RunReport& report, const pipeline::Training& training,
             const RecordedRun& recorded) override {
    print_closing(report, training, recorded);
    if (report.signal != 0) interrupted_ = recorded.folder;
    std::fflush(stdout);
  }
  void end() override {
    if (!interrupted_.empty()) print_continuation(interrupted_);
    std::fflush(stdout);
  }

 private:
  void add_earlier(const RecordedRun& recorded) {
    if (recorded.lines == 0) return;  // it was interrupted before the first metric
    for (const artifacts::HistoryLine& line : read_history(artifacts::RunFolder{recorded.folder}.history_jsonl()))
      if (line.event == artifacts::HistoryEvent::validation)
        progress_.add_earlier({line.metrics.begin(), line.metrics.end()});
  }

  callbacks::Progress progress_{stdout};
  std::filesystem::path interrupted_;  // folder of the run that a signal has stopped
};

}  // namespace

std::unique_ptr<RunOutput> make_text_output() { return std::make_unique<TextOutput>(); }

}  // namespace tenon::reporting

#include "framework/reporting/terminal/run_output.h"

#include <algorithm>
#include <cstdio>
#include <functional>
#include <nlohmann/json.hpp>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/model_files.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/callbacks/progress.h"
#include "framework/components/kinds/model.h"
#include "framework/pipeline/build/model_summary.h"
#include "framework/pipeline/device/device_memory.h"
#include "framework/reporting/runs/read_run.h"
#include "framework/reporting/terminal/write_output.h"
#include "framework/support/text/format.h"
#include "framework/support/text/format_values.h"
#include "framework/support/text/terminal.h"

namespace tenon::reporting {

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::ordered_json;

// One column stays free because some terminals would wrap. 0: no terminal.
size_t find_width() {
  const size_t width = support::find_terminal_width(stdout);
  return width > 0 ? width - 1 : 0;
}

void print_parts(const std::vector<std::string>& parts, const std::string& separator) {
  write_output_text(support::wrap_parts(parts, separator, find_width()) + "\n");
}

// Prints a path on the line of its label, or on the next one, or the path in `folder` if it would not fit otherwise.
void print_path(const std::string& label, const fs::path& path, const fs::path& folder) {
  const size_t width = find_width();
  const std::string shown = support::show_path(path);
  if (width == 0 || label.size() + 1 + shown.size() <= width)
    write_output("{} {}\n", label, shown);
  else if (shown.size() + 2 <= width || folder.empty())
    write_output("{}\n  {}\n", label, shown);
  else {
    print_parts({label, "the run folder:"}, " ");
    write_output("  {}\n", path.lexically_relative(folder).string());
  }
}

// Returns the path, or the folder of its run if the path does not fit.
std::string show_checkpoint(const fs::path& folder) {
  const size_t width = find_width();
  if (width == 0) return folder.string();
  const std::string shown = support::show_path(folder);
  return shown.size() + 2 <= width ? shown : support::show_path(folder.parent_path().parent_path());
}

std::string format_metric(const std::string& name, double value) {
  return name + " " + callbacks::format_metric(value);
}

void print_data(const std::string& label, const pipeline::BoundDataset& data) {
  write_output("  {:<12} {}: {}, {} of {}\n", label, data.feed.dataset().component().schema.id,
               support::format_count(data.feed.sampler().size(), "sample"),
               support::format_count(data.feed.batches(), "batch", "batches"), data.feed.batch_size());
}

void print_change(const config::ScheduledDataset& later) {
  write_output("  from epoch {}:", later.at_epoch);
  for (const auto& [name, value] : later.changed) write_output(" {} = {}", name, config::to_toml(value));
  write_output_text("\n");
}

void print_opening(const pipeline::Training& training, const RecordedRun& recorded,
                   const artifacts::FoundCheckpoint* resumed_from) {
  const components::Component& model = training.model.component();
  write_output("model {} ({} {})\n{}", model.schema.id, model.plugin->id, model.plugin->version,
               pipeline::summarize_model(training.model, find_width()));
  write_output_text("data\n");
  print_data("train", *training.train);
  for (const config::ScheduledDataset& later : training.plan->data.scheduled_train) print_change(later);
  for (const auto& data : training.validation) print_data(data->name(), *data);
  for (const auto& data : training.test) print_data(data->name(), *data);
  print_path("run folder", recorded.folder, {});
  if (resumed_from)
    print_parts({"resumed from", show_checkpoint(resumed_from->folder),
                 fmt::format("(epoch {}, step {}){}", resumed_from->manifest.epoch, resumed_from->manifest.step,
                             resumed_from->has_run_crashed ? " of a run that crashed" : "")},
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
    const double share = stage.seconds / sum;
    if (share >= 0.005) shares.push_back(fmt::format("{} {:.0f} %", stage.name, 100 * stage.seconds / sum));
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
      write_output("{}\n", support::wrap_words(advice, find_width()));
  std::string memory = "peak memory: " + support::format_bytes(static_cast<uint64_t>(artifacts::read_peak_memory()));
  if (const auto device = pipeline::peak_memory(training.device))
    memory += fmt::format(
        ", {:.1f} MiB on the device ({:.1f} MiB reserved); training synchronised with the device {} and replayed {} as "
        "a CUDA graph",
        device->allocated, device->reserved, support::format_count(report.state.host_waits, "time"),
        support::format_count(report.state.graph_replays, "batch", "batches"));
  write_output("{}\n", support::wrap_words(memory, find_width()));
}

void print_test(const pipeline::TestResults& test) {
  write_output("test with the {} weights, of step {}{}\n", test.monitor.empty() ? "last" : "best", test.step,
               test.monitor.empty() ? "" : ", by " + test.monitor);
  std::vector<std::string> metrics;
  for (const auto& [name, value] : test.metrics) metrics.push_back(format_metric(name, value));
  if (!metrics.empty()) metrics.front() = "  " + metrics.front();
  print_parts(metrics, "  ");
}

// The command that resumes an interrupted run. It is one line, or several that a shell reads as one.
void print_continuation(const fs::path& folder) {
  const std::string plan = support::quote_for_shell(support::show_path(folder / "plan.toml"));
  const std::string resume = "--resume " + support::quote_for_shell(support::show_path(folder));
  const std::string line = "  host " + plan + " " + resume, line_break = " \\\n    ";
  const size_t width = find_width();
  const bool fits = width == 0 || line.size() <= width;
  const bool has_short_plan = 7 + plan.size() + 2 <= width;  // "  host PLAN \"
  write_output("Interrupted. Checkpoint saved; continue with:\n{}\n",
               fits ? line : "  host" + (has_short_plan ? " " : line_break) + plan + line_break + resume);
}

// The link `best`, or the checkpoint itself on a file system without symbolic links.
fs::path find_best(const artifacts::RunFolder& run) {
  return artifacts::replace_checkpoint_names(run.checkpoints() / artifacts::kBest);
}

void print_closing(const pipeline::RunReport& report, const pipeline::Training& training, const RecordedRun& recorded) {
  const bool finished = report.end == pipeline::RunReport::End::finished;
  std::vector<std::string> parts{fmt::format("{} after {} in {}", finished ? "finished" : "stopped",
                                             support::format_count(report.state.step, "step"),
                                             callbacks::format_elapsed(report.state.time_s))};
  if (!finished) parts.front() += " (" + report.reason + ")";
  for (const auto& [name, value] : report.state.metrics)
    if (report.state.validated_step == report.state.step && name.starts_with("validation/"))
      parts.push_back(format_metric(name, value));
  print_parts(parts, "  ");
  print_costs(report, training);
  print_path("weights in", artifacts::find_model_file(recorded.last_checkpoint), recorded.folder);
  if (report.best)
    print_path(fmt::format("best {}, after step {}, in", format_metric(training.monitor->metric, report.best->value),
                           report.best->step),
               artifacts::find_model_file(find_best(artifacts::RunFolder{recorded.folder})), recorded.folder);
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
  void say(const std::string& sentence) override { write_output("{}\n", support::wrap_words(sentence, find_width())); }
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
  fs::path interrupted_;  // folder of the run that a signal has stopped
};

Json to_json(const std::map<std::string, double>& metrics) {
  Json json = Json::object();
  // Uses the number format of the history: JSON has no NaN and no infinities.
  for (const auto& [name, value] : metrics) json[name] = Json::parse(artifacts::format_json_number(value));
  return json;
}

Json describe_start(const artifacts::FoundCheckpoint* resumed_from) {
  if (!resumed_from) return nullptr;
  return {{"checkpoint", resumed_from->folder.string()},
          {"epoch", resumed_from->manifest.epoch},
          {"step", resumed_from->manifest.step},
          {"crashed", resumed_from->has_run_crashed}};
}

Json describe_best(const pipeline::RunReport& report, const pipeline::Training& training,
                   const artifacts::RunFolder& folder) {
  if (!report.best) return nullptr;
  return {{"metric", training.monitor->metric},
          {"value", Json::parse(artifacts::format_json_number(report.best->value))},
          {"step", report.best->step},
          {"checkpoint", find_best(folder).string()}};
}

Json describe_test(const pipeline::RunReport& report) {
  if (!report.test) return nullptr;
  const pipeline::TestResults& test = *report.test;
  return {{"weights", test.monitor.empty() ? "last" : "best"},
          {"monitor", test.monitor.empty() ? Json() : Json(test.monitor)},
          {"epoch", test.epoch},
          {"step", test.step},
          {"metrics", to_json({test.metrics.begin(), test.metrics.end()})}};
}

// docs/reference/run_file.md describes the lines.
class JsonOutput final : public RunOutput {
 public:
  void open(const pipeline::Training& training, const RecordedRun& recorded,
            const artifacts::FoundCheckpoint* resumed_from) override {
    print({{"event", "run"},
           {"name", training.plan->run.name},
           {"folder", recorded.folder.string()},
           {"model", training.model.component().schema.id},
           {"epochs", training.plan->train.epochs},
           {"samples", training.train->feed.sampler().size()},
           {"resumed_from", describe_start(resumed_from)}});
  }

  void say(const std::string& sentence) override { print({{"event", "message"}, {"message", sentence}}); }

  void add(const artifacts::HistoryLine& line) override {
    write_output_text(artifacts::format_history_line(line));
    std::fflush(stdout);
  }

  void close(const pipeline::RunReport& report, const pipeline::Training& training,
             const RecordedRun& recorded) override {
    std::map<std::string, double> stages;
    for (const pipeline::StageSeconds& stage : report.stages) stages[stage.name] = stage.seconds;
    print({{"event", "end"},
           {"status", report.end == pipeline::RunReport::End::finished ? "finished" : "stopped"},
           {"reason", report.reason},
           {"epoch", report.state.epoch},
           {"step", report.state.step},
           {"time_s", report.state.time_s},
           {"metrics", to_json(report.state.metrics)},
           {"stages", to_json(stages)},
           {"host_waits", report.state.host_waits},
           {"graph_replays", report.state.graph_replays},
           {"peak_bytes", artifacts::read_peak_memory()},
           {"checkpoint", recorded.last_checkpoint.string()},
           {"best", describe_best(report, training, artifacts::RunFolder{recorded.folder})},
           {"test", describe_test(report)}});
  }

 private:
  static void print(const Json& line) {
    write_output_json(line, -1);
    std::fflush(stdout);
  }
};

}  // namespace

std::unique_ptr<RunOutput> make_text_output() { return std::make_unique<TextOutput>(); }

std::unique_ptr<RunOutput> make_json_output() { return std::make_unique<JsonOutput>(); }

}  // namespace tenon::reporting

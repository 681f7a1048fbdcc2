#include "framework/reporting/comparison/measured_run.h"

#include <algorithm>
#include <nlohmann/json.hpp>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/reporting/runs/read_history.h"
#include "framework/support/files/read_file.h"

namespace tenon::reporting {

namespace {

namespace fs = std::filesystem;

// Returns the last line that is not empty, which is the host's error message.
std::string last_line(const std::string& text) {
  const size_t end = text.find_last_not_of("\n ");
  if (end == text.npos) return "";
  const size_t start = text.rfind('\n', end);
  return text.substr(start == text.npos ? 0 : start + 1, end - (start == text.npos ? 0 : start + 1) + 1);
}

bool is_of_validation(const std::string& metric) { return metric.starts_with("validation"); }

void add_metric(const std::pair<std::string, double>& metric, artifacts::NamedMetrics& metrics) {
  const auto known = std::ranges::find_if(metrics, [&](const auto& other) { return other.first == metric.first; });
  if (known == metrics.end())
    metrics.push_back(metric);
  else
    known->second = metric.second;
}

// Returns the step of the checkpoint that the link `best` points to.
std::optional<int64_t> find_best_step(const fs::path& run) {
  std::error_code ignored;
  const fs::path best = fs::read_symlink(artifacts::RunFolder{run}.checkpoints() / artifacts::kBest, ignored);
  return artifacts::parse_checkpoint_folder(best.filename().string());
}

// Returns the last value of each validation metric up to `step`, and the metrics of the test data.
artifacts::NamedMetrics collect_metrics(const std::vector<artifacts::HistoryLine>& history,
                                        std::optional<int64_t> step) {
  artifacts::NamedMetrics metrics;
  for (const artifacts::HistoryLine& line : history) {
    const bool is_test = line.event == artifacts::HistoryEvent::test;
    const bool is_validation = line.event == artifacts::HistoryEvent::validation && (!step || line.step <= *step);
    for (const auto& metric : line.metrics)
      if (is_test || (is_validation && is_of_validation(metric.first))) add_metric(metric, metrics);
  }
  return metrics;
}

void read_lines(const std::vector<artifacts::HistoryLine>& history, MeasuredRun& run) {
  for (const artifacts::HistoryLine& line : history) {
    run.steps = std::max(run.steps, line.step);
    run.seconds = std::max(run.seconds, line.time_s);
    for (const auto& [name, value] : line.metrics) {
      if (name == "train/loss") run.last_training_loss = value;
      if (name == "train/device_memory_mib") run.device_peak_mib = std::max(run.device_peak_mib.value_or(0), value);
    }
  }
}

// Reads the peak memory from run.json. Returns 0 if run.json is missing or the run was killed.
int64_t read_peak(const fs::path& record) {
  const auto json = nlohmann::json::parse(support::read_text(record), nullptr, /*allow_exceptions=*/false);
  const auto peak = json.find("peak_bytes");
  return peak != json.end() && peak->is_number_integer() ? peak->get<int64_t>() : 0;
}

}  // namespace

MeasuredRun measure_run(int exit_code, const std::string& errors, const fs::path& folder, const EpochSize& epoch) {
  MeasuredRun run;
  run.folder = folder;
  run.exit_code = exit_code;
  if (run.exit_code != 0) run.failure = "exit code " + std::to_string(run.exit_code) + ": " + last_line(errors);
  if (folder.empty()) return run;
  run.peak_bytes = read_peak(artifacts::RunFolder{folder}.record_file());
  const fs::path file = artifacts::RunFolder{folder}.history_jsonl();
  std::error_code error;
  if (fs::file_size(file, error) == 0 || error == std::errc::no_such_file_or_directory)
    return run;  // the run failed before its first line
  const std::vector<artifacts::HistoryLine> history = read_history(file);
  read_lines(history, run);
  run.epochs = static_cast<double>(run.steps) / static_cast<double>(epoch.steps);
  run.samples = run.epochs * static_cast<double>(epoch.samples);
  run.best_step = find_best_step(folder);
  run.metrics = collect_metrics(history, run.best_step);
  return run;
}

}  // namespace tenon::reporting

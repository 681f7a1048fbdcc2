// Reads the files of a run folder.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/history.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/config/plan/compare_plans.h"
#include "framework/pipeline/state/stage_times.h"

namespace tenon::reporting {

struct MetricAt {
  double value;
  int64_t step;
};

// The metrics of the test data, and the weights that have them.
struct ReadTest {
  std::string monitor;  // the metric by which these weights are the best; empty: they are the last ones
  int64_t step;         // of the weights
  artifacts::NamedMetrics metrics;
};

// Returns a text of a JSON object; empty if it is missing.
std::string text_in(const nlohmann::ordered_json& object, const char* key);

class ReadRun {
 public:
  // Throws Error(checkpoint) with the file and the location if the folder is not a run folder or a file is damaged. A
  // run that has not started training has an empty history.
  explicit ReadRun(const std::filesystem::path& folder);

  const artifacts::RunFolder& folder() const { return folder_; }
  const nlohmann::ordered_json& record() const { return record_; }  // run.json
  const std::string& plan() const { return plan_; }                 // plan.toml
  const std::vector<artifacts::HistoryLine>& history() const { return history_; }

  // "finished", "stopped", "failed" or "running". "crashed" if run.json has the status running but no process
  // trains in the folder.
  const std::string& state() const { return state_; }
  bool has_failed() const { return state_ == "failed" || state_ == "crashed"; }
  std::string name() const;  // run.name and the folder name: digits/2026-11-21T11-30-05
  std::string text(const char* key) const { return text_in(record_, key); }  // in run.json
  std::vector<std::string> losses() const;                                   // names of the losses
  std::string model() const;                                                 // id of the model component
  std::string monitor() const;                                               // monitored metric; empty: none
  int64_t planned(const std::string& key) const;  // integer of the plan, such as "train.epochs"; 0 if missing

  // Time of the training thread by stage, longest first. Stages below half a percent are summed up as "other". Empty if
  // the run has not ended or its process was killed.
  std::vector<pipeline::StageSeconds> stages() const;

  // Nothing if the run has not evaluated test data.
  std::optional<ReadTest> test() const;

  int64_t epoch() const { return history_.empty() ? 0 : history_.back().epoch; }
  int64_t step() const { return history_.empty() ? 0 : history_.back().step; }
  double seconds() const { return history_.empty() ? 0 : history_.back().time_s; }  // training time

  // Returns 1 if higher is better, -1 if lower is better, 0 if neither or unknown.
  int direction(const std::string& metric) const;
  std::optional<MetricAt> last(const std::string& metric) const;
  // Returns the first best finite value by direction(), or nothing if the direction is 0.
  std::optional<MetricAt> best(const std::string& metric) const;
  std::vector<std::string> metrics() const;  // all names in order of first appearance

 private:
  artifacts::RunFolder folder_;
  nlohmann::ordered_json record_;
  std::string plan_;
  std::map<std::string, config::Node> values_;  // values of the plan
  std::vector<artifacts::HistoryLine> history_;
  std::string state_;
};

// Returns whether the folder is a run folder: it has a plan and checkpoints.
bool has_run(const std::filesystem::path& folder);

// Returns the run folders at most two levels below a folder, such as run.output_dir, or the folder itself. Does not
// follow symbolic links.
std::vector<std::filesystem::path> find_runs(const std::filesystem::path& folder);

// Reads history.jsonl of a run. Throws Error(checkpoint) with the file and the number of the invalid line.
std::vector<artifacts::HistoryLine> read_history(const std::filesystem::path& file);
// The same, but a file that is missing or empty has no lines: the run has not written its first one.
std::vector<artifacts::HistoryLine> read_history_so_far(const std::filesystem::path& file);

}  // namespace tenon::reporting

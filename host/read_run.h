// What a run has left in its folder, as far as it can be read.
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/history.h"
#include "framework/artifacts/run_folder.h"
#include "framework/config/flatten_plan.h"
#include "framework/pipeline/stage_times.h"

namespace tenon::host {

struct FigureAt {
  double value;
  int64_t step;
};

class ReadRun {
 public:
  // Throws Error(checkpoint) with the file and the place if the folder is no run's, or if a file of it is damaged. One
  // that has not begun to train has no history.
  explicit ReadRun(const std::filesystem::path& folder);

  const artifacts::RunFolder& folder() const { return folder_; }
  const nlohmann::ordered_json& record() const { return record_; }  // run.json
  const std::string& plan() const { return plan_; }                 // plan.toml
  const std::vector<artifacts::HistoryLine>& history() const { return history_; }

  // "finished", "stopped", "failed", "running"; or "interrupted", where it says that it is running and no process
  // trains in the folder.
  const std::string& state() const { return state_; }
  std::string name() const;                        // run.name, and the folder's name: digits/2026-11-21T11-30-05
  std::string text(const std::string& key) const;  // of run.json; empty where it has none
  std::vector<std::string> losses() const;         // their names
  std::string model() const;                       // the id of its component
  std::string monitor() const;                     // the figure by which checkpoints are good; empty: none
  int64_t planned(const std::string& key) const;   // "train.epochs": an integer of the plan; 0 where it has none

  // Where the time of the training thread went, the longest first; those below half a percent are among "other". Empty
  // of a run that has not ended, or whose process was killed.
  std::vector<pipeline::StageSeconds> stages() const;

  int64_t epoch() const { return history_.empty() ? 0 : history_.back().epoch; }
  int64_t step() const { return history_.empty() ? 0 : history_.back().step; }
  double seconds() const { return history_.empty() ? 0 : history_.back().time_s; }  // of training

  // 1: higher is better, -1: lower, 0: neither, or not known.
  int direction(const std::string& figure) const;
  std::optional<FigureAt> last(const std::string& figure) const;
  // The first of the best by direction(), without what is not finite; none where neither is better.
  std::optional<FigureAt> best(const std::string& figure) const;
  std::vector<std::string> figures() const;  // all names, in the order in which they came

 private:
  artifacts::RunFolder folder_;
  nlohmann::ordered_json record_;
  std::string plan_;
  std::map<std::string, config::Node> values_;  // of the plan
  std::vector<artifacts::HistoryLine> history_;
  std::string state_;
};

// Whether it is the folder of a run: it has a plan and checkpoints.
bool has_run(const std::filesystem::path& folder);

}  // namespace tenon::host

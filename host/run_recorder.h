// The run folder as the pipeline's recorder: history, events, checkpoints, run.json.
#pragma once

#include <chrono>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/find_checkpoint.h"
#include "framework/artifacts/history.h"
#include "framework/artifacts/run_folder.h"
#include "framework/artifacts/run_record.h"
#include "framework/artifacts/tensorboard_events.h"
#include "framework/pipeline/recorder.h"
#include "framework/pipeline/score_samples.h"
#include "framework/pipeline/train.h"
#include "framework/pipeline/training.h"
#include "framework/plugins/catalogue.h"
#include "host/checkpoint_writer.h"

namespace tenon::host {

class RunRecorder final : public pipeline::Recorder {
 public:
  // Makes the run's folder and opens its log. A run that goes on from its newest checkpoint does
  // so in its own folder, from an earlier one in a new folder, which begins with the history until then.
  // `resumed_from`: null, or that checkpoint. Throws Error as the artifacts do.
  RunRecorder(const config::RunPlan& plan, const pipeline::Training& training, const plugins::Catalogue& catalogue,
              const support::ComputeDevice& device, std::vector<std::string> command_line,
              const artifacts::FoundCheckpoint* resumed_from = nullptr);

  void record(pipeline::LineKind kind, const pipeline::RunState& state,
              const std::vector<std::pair<std::string, double>>& figures) override;
  void save_checkpoint(const pipeline::RunState& state, std::span<const plugins::NamedTensor> tensors,
                       const pipeline::SavedState& saved) override;
  pipeline::BestCheckpoint read_best_checkpoint() override;

  // Into the events file, where there is one.
  void add_histograms(int64_t step, const std::vector<artifacts::NamedHistogram>& histograms);
  // The samples that the model does best and worst with the weights of a step: into samples/ and the events file.
  void add_samples(const pipeline::SampleScores& scores, int64_t step);

  // How the run ended, into run.json; and what it took, where that is known.
  void finish(artifacts::RunStatus status, const std::string& reason, int exit_code,
              const pipeline::RunReport* report = nullptr);

  std::filesystem::path folder() const override { return folder_.root; }
  int64_t lines() const { return history_.lines(); }
  // Told each line after it was written to the history; empty: nobody.
  std::function<void(const artifacts::HistoryLine&)> on_line;
  // Waits for the checkpoint that is being written. Throws Error(checkpoint) where it could not be.
  void finish_checkpoint() { checkpoints_.finish(); }
  // That is whole.
  const std::filesystem::path& last_checkpoint() const {
    return checkpoints_.last().empty() ? record_.resumed_from : checkpoints_.last();
  }

 private:
  artifacts::RunRecord record_;
  std::string plan_text_;
  artifacts::RunFolder folder_;
  support::FileDescriptor lock_;
  artifacts::History history_;
  std::optional<artifacts::TensorboardEvents> events_;
  std::vector<std::string> losses_;  // their names
  bool has_png_plots_ = false;
  CheckpointWriter checkpoints_;
};

}  // namespace tenon::host

// The pipeline's recorder that writes the run folder: history, events, checkpoints, run.json.
#pragma once

#include <filesystem>
#include <functional>
#include <future>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/run_folder/find_checkpoint.h"
#include "framework/artifacts/run_folder/history.h"
#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/artifacts/run_folder/run_record.h"
#include "framework/artifacts/run_folder/tensorboard_events.h"
#include "framework/components/loading/catalogue.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/loop/train.h"
#include "framework/pipeline/state/frozen_parameters.h"
#include "framework/pipeline/state/recorder.h"
#include "framework/pipeline/tools/score_samples.h"
#include "framework/reporting/report/saved_samples.h"
#include "host/training/checkpoint_writer.h"

namespace tenon::host {

class RunRecorder final : public pipeline::Recorder {
 public:
  // Creates the run folder and opens its log. A run that resumes from its newest checkpoint keeps its folder. A run
  // that resumes from an earlier checkpoint gets a new folder with a copy of the history up to that checkpoint.
  // `resumed_from`: the checkpoint, or null. Throws Error as the artifacts do.
  RunRecorder(const config::RunPlan& plan, const pipeline::Training& training, const components::Catalogue& catalogue,
              const support::ComputeDevice& device, std::vector<std::string> command_line,
              const artifacts::FoundCheckpoint* resumed_from = nullptr);

  void append_line(pipeline::LineKind kind, const pipeline::RunState& progress,
                   const std::vector<std::pair<std::string, double>>& metrics) override;
  void start_checkpoint(const pipeline::RunState& progress, std::span<const components::NamedTensor> tensors,
                        const pipeline::SavedState& saved) override;
  pipeline::BestCheckpoint read_best_checkpoint() override;

  // Writes the histograms to the events file, if there is one.
  void add_histograms(int64_t step, const std::vector<artifacts::NamedHistogram>& histograms);
  // Writes the best and worst samples with the weights of a step to samples/ and the events file.
  void add_samples(const pipeline::SampleScores& scores, int64_t step, const artifacts::ImageDetails& details,
                   const reporting::TableColumns& columns);

  // Writes the end of the run to run.json, with its times and memory if `report` is given. `is_complete`: see
  // RunRecord.
  void finish(artifacts::RunStatus status, const std::string& reason, int exit_code,
              const pipeline::RunReport* report = nullptr, bool is_complete = false);

  std::filesystem::path folder() const override { return folder_.root; }
  int64_t lines() const { return history_.lines(); }
  // Called with each line after it was written to the history. May be empty.
  std::function<void(const artifacts::HistoryLine&)> on_line;
  // Waits for the checkpoint that is being written. Throws Error(checkpoint) if the write failed.
  void finish_checkpoint() { checkpoint_writer_.finish(); }
  // As finish_checkpoint(), for a run that has failed: other ranks may have ended.
  void finish_checkpoint_of_failed() { checkpoint_writer_.finish_failed(); }
  // The last complete checkpoint.
  const std::filesystem::path& last_checkpoint() const {
    return checkpoint_writer_.last().empty() ? run_json_.resumed_from : checkpoint_writer_.last();
  }

 private:
  // If the file cannot be created, logs a warning, and the run continues without it.
  void open_events(const artifacts::FoundCheckpoint* resumed_from);
  void open_log();
  // Starts the work that training does not wait for: git, and syncing the first files of the run.
  void begin_first_files(const config::RunPlan& plan);
  // Waits for it. Throws Error(system) if it failed.
  void finish_first_files();
  void find_frozen_parameters(const pipeline::Training& training);

  // If the events file cannot be written, logs a warning and writes no more events.
  template <class Write>
  void write_events(const Write& write);

  artifacts::RunRecord run_json_;
  std::string plan_text_;
  artifacts::RunFolder folder_;
  support::FileDescriptor lock_;
  artifacts::History history_;
  std::optional<artifacts::TensorboardEvents> events_;
  std::vector<std::string> losses_;  // names of the losses
  config::ClassNames class_names_;
  artifacts::FittedData fitted_data_;
  artifacts::ModelSizes model_sizes_;
  pipeline::FrozenParameters frozen_;  // that checkpoints leave out
  artifacts::AwaitedParts parts_;      // of the next checkpoint with a training state
  CheckpointWriter checkpoint_writer_;
  std::future<artifacts::RunRecord> first_files_;  // the record with the state of git
};

}  // namespace tenon::host

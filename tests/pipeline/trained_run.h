// Runs a training in the test process: bundled plugins, a run file as text, a recorder that keeps everything in memory.
#pragma once

#include <atomic>
#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/pipeline/loop/train.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

struct RecordedLine {
  LineKind kind;
  int64_t epoch;
  int64_t step;
  std::vector<std::pair<std::string, double>> metrics;
  double at(const std::string& name) const;  // fails the test if the metric does not exist
};

class MemoryRecorder final : public Recorder {
 public:
  std::filesystem::path folder() const override { return "/recorded"; }
  void append_line(LineKind kind, const RunState& state,
                   const std::vector<std::pair<std::string, double>>& metrics) override;
  void start_checkpoint(const RunState& state, std::span<const components::NamedTensor> tensors,
                        const SavedState& saved) override;
  BestCheckpoint read_best_checkpoint() override;  // by validation/loss

  std::vector<RecordedLine> of_kind(LineKind kind) const;

  std::vector<RecordedLine> lines;  // without the times of steps
  std::vector<std::pair<std::string, double>> step_times;
  std::vector<int64_t> checkpoint_steps;
  std::map<std::string, at::Tensor> weights;   // of the last checkpoint
  std::vector<Checkpoint> checkpoints;         // copies of all checkpoints
  std::map<size_t, double> validation_losses;  // by checkpoint index, for steps that were validated
};

// The text of a run file: mlp on the digits with cross_entropy, accuracy and sgd. `more` is appended, `overrides` are
// --set.
struct Setup {
  std::vector<std::string> overrides = {};
  std::string more = {};
  support::ComputeDevice device = {};
};

// A built run. The parts live as long as this object.
struct BuiltRun {
  explicit BuiltRun(const Setup& setup, distributed::ProcessGroup& group = distributed::ProcessGroup::single());
  RunReport train(const std::vector<Observer*>& observers = {}, int signal = 0, const Checkpoint* resumed = nullptr);

  std::unique_ptr<components::Catalogue> catalogue;
  std::unique_ptr<config::RunPlan> plan;
  std::unique_ptr<Training> training;
  MemoryRecorder recorder;
  std::atomic<bool> save_signal{false};
};

// The configuration error of building the run, or "accepted".
std::string refusal_of(const Setup& setup);

// The error, of this kind, of building the run or of training, or "accepted".
std::string error_of_training(support::ErrorKind kind, const Setup& setup);

// The first settings, then the others.
std::vector<std::string> join_settings(std::vector<std::string> first, const std::vector<std::string>& others);

// Checks that the last checkpoints of the runs have the same weights.
void check_same_weights(const BuiltRun& run, const BuiltRun& other);

}  // namespace tenon::pipeline

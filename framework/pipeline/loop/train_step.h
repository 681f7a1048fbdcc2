// One optimizer step: forward, losses and backward of its batches, then one update.
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/distributed/collectives/reducer.h"
#include "framework/distributed/collectives/synchronized_batch_norm.h"
#include "framework/pipeline/build/training.h"
#include "framework/pipeline/checks/check_finite.h"
#include "framework/pipeline/device/gradients.h"
#include "framework/pipeline/device/non_finite_flag.h"
#include "framework/pipeline/device/readback.h"
#include "framework/pipeline/loop/batch_graphs.h"
#include "framework/pipeline/losses/loss_groups.h"
#include "framework/pipeline/losses/loss_sums.h"
#include "framework/pipeline/losses/step_losses.h"
#include "framework/pipeline/state/events.h"
#include "framework/pipeline/state/saved_state.h"

namespace tenon::pipeline {

// The results of a step, available once they have reached the host.
struct StepMetrics {
  std::vector<LossSums> losses;  // one element per batch; with several ranks one for all of them
  double gradient_norm;          // over all parameters, before clipping; NaN if not requested
  double loss_scale;             // used in this step; 1 except in fp16
  bool was_skipped;              // something was not finite, and the weights did not change
};

// No function here blocks on the device: the results of a step arrive through the readback, in the order of the steps.
// A step with non-finite values changes no weights. If it is to end the run, later steps change no weights either: the
// device skips the updates before the host knows.
//
// With several ranks, each rank adds its share of every batch. Gradients are summed over the ranks during the backward
// of the last batch. The metrics are those of all ranks, and the model's buffers are broadcast from rank 0 after each
// step. The collective calls of all ranks must match: a rank without a share of the last batch calls
// join_without_batch().
class TrainStep {
 public:
  using Inspect = std::function<void(BoundDataset& data, const BatchTensors& batch_tensors,
                                     const std::vector<components::Loss::Result>& losses)>;

  // `deliver` receives the results of each step.
  TrainStep(Training& training, std::function<void(Event)> dispatch, std::function<void(const StepMetrics&)> deliver);

  // Calls `inspect` once, after the losses of the next batch.
  void inspect_next_batch(Inspect inspect) { inspect_ = std::move(inspect); }

  // Call it after the optimizer froze or unfroze parameters, and before the first step.
  void start_epoch();

  // Runs forward, losses and backward of the step's next batch. Throws Error(plugin) for errors of a component, and
  // Error(rank_lost).
  void run_batch(const data::Batch& batch, components::StepContext context, bool is_last = true);
  void join_without_batch(const components::StepContext& context, bool is_last = true);
  // Whether a rank without a share must join the batch.
  bool joins_batch(bool is_last) const { return !training_.group->is_single() && (is_last || reduces_every_batch()); }

  // For resuming, between two steps. All ranks call save(); load() is called before start_epoch().
  void save(SavedState& saved);
  void load(const SavedState& saved);

  // Discards the batches: no rank had a sample.
  void drop();

  // Ends the step: updates the weights with its batches, and posts its results. with_norm: the results include the
  // gradient norm. Throws Error(non_finite), here or in a later call, naming the step and the loss or the first
  // parameter.
  void finish_step(const optimization::StepRates& rates, bool with_norm);

  const Readback& readback() const { return readback_; }
  int64_t graph_replays() const { return graphs_ ? graphs_->replays() : 0; }
  void drain();  // waits until the results of all steps are delivered

 private:
  // The buckets of a reducer and the names of its parameters.
  struct SavedReduction {
    std::vector<std::string> names;
    distributed::Reducer::Buckets buckets;
  };

  void run_batch_as_graph(BatchTensors& batch_tensors, int64_t samples, const components::StepContext& context);
  void inspect(BoundDataset& data, const BatchTensors& batch_tensors,
               const std::vector<components::Loss::Result>& losses);
  void start_collectives();
  void finish_sums();
  void backward(const at::Tensor& total, bool keep_graph);
  void run_backward(const at::Tensor& total, bool keep_graph);
  bool reduces_every_batch() const { return reducer_->reduced_passes() == distributed::Reducer::Passes::all; }
  bool reduces_batch(bool is_last) const;
  // Whether other ranks wait for this one in the layers of the model.
  bool joins_layers() const { return batch_norm_ || training_.parameter_shards; }
  at::Tensor with_whole_graph(const at::Tensor& total, const BatchTensors& batch_tensors) const;
  void join_backward(const std::vector<at::Tensor>& outputs);
  void synchronize();
  at::Tensor prepare_gradients(bool with_norm);  // returns the norm if requested
  void post(const at::Tensor& norm);
  bool check_finite(const StepMetrics& metrics, const Gradients::Magnitudes* magnitudes,
                    const std::optional<NonFiniteSource>& source, int64_t step) const;
  void gather_weights();
  void apply_optimizer(const optimization::StepRates& rates);

  Training& training_;
  std::function<void(Event)> dispatch_;
  std::function<void(const StepMetrics&)> deliver_;
  Readback readback_;
  const bool divides_gradients_;  // over the ranks
  Gradients gradients_;
  LossGroups groups_;
  std::unique_ptr<distributed::Reducer> reducer_;                   // of the parameters that require grad
  std::vector<std::string> reduced_;                                // the names of the parameters in the reducer
  std::optional<SavedReduction> saved_reduction_;                   // from a resumed run, for the first reducer
  std::vector<at::Tensor> buffers_;                                 // of the model, kept equal on all ranks
  std::unique_ptr<distributed::SynchronizedBatchNorm> batch_norm_;  // null: each rank normalises its batches separately
  NonFiniteFlag non_finite_;
  std::optional<FiniteBuffers> finite_buffers_;  // only with train.non_finite = "skip"
  std::unique_ptr<BatchGraphs> graphs_;          // null: every operator is submitted separately
  const bool may_skip_;
  int64_t skipped_in_a_row_ = 0;
  Inspect inspect_;  // empty: nothing to inspect

  // State of the current step.
  components::StepContext context_;
  StepLosses losses_;
  std::optional<NonFiniteSource> non_finite_source_;  // of the losses of the step; only on the CPU
  distributed::ProcessGroup::Pending pending_buffers_;
  bool reduces_ = false;      // the current backward also sums the gradients over the ranks
  bool was_skipped_ = false;  // the last step that the host knows of
};

}  // namespace tenon::pipeline

// One optimizer step: forward, losses and backward of its batches, and then, once, the update.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "framework/distributed/gradient_reducer.h"
#include "framework/distributed/synchronized_batch_norm.h"
#include "framework/pipeline/compute_losses.h"
#include "framework/pipeline/events.h"
#include "framework/pipeline/first_loss.h"
#include "framework/pipeline/gradients.h"
#include "framework/pipeline/loss_groups.h"
#include "framework/pipeline/readback.h"
#include "framework/pipeline/saved_state.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// What a step gave, once the host knows it.
struct StepFigures {
  std::vector<std::vector<LossValue>> losses;  // of each batch; with several ranks of all together
  double gradient_norm;                        // of all parameters, before clipping; NaN where nobody asked for it
  double loss_scale;                           // that the step was made with; 1 but in fp16
  bool was_skipped;                            // something was not finite, and no weight has changed
};

// Nothing here waits for the device: what a step gave comes with the readback, in the order of the steps. A step that
// is not finite changes no weight, nor, where the run is to end, does any after it: the device sees to that before the
// host knows.
//
// With several ranks each adds its share of every batch. The gradients are summed over them while the last batch's
// backward is at work, the figures are those of all ranks, and the model's buffers are rank 0's after each step. What a
// rank adds, or not, the others must match: those without a share of the last batch call add_nothing().
class TrainStep {
 public:
  // `deliver` gets the figures of each step.
  TrainStep(Training& training, std::function<void(Event)> announce, std::function<void(const StepFigures&)> deliver);

  // After the optimizer froze or unfroze parameters, and before the first step.
  void start_epoch();

  // Forward, losses and backward of the step's next batch. Throws Error(plugin) for what a component gets wrong, and
  // Error(rank_lost).
  void add(const data::Batch& batch, plugins::RunPosition position, bool is_last = true);
  void add_nothing(const plugins::RunPosition& position);

  bool has_batches() const { return !readings_.empty(); }

  // Between two steps, for a run that is resumed; save() is called by all ranks, load() before start_epoch().
  void save(SavedState& saved);
  void load(const SavedState& saved);

  // Forgets the batches: no rank had a sample.
  void drop();

  // The update from the batches that were added since the last one. with_norm: the figures have the gradient's norm.
  // Throws Error(non_finite), here or in a later call, naming the step and the loss or the first parameter.
  void finish(const optimization::StepRates& rates, bool with_norm);

  // Of the first batch of a run that begins; none before it is known, and on other ranks than the first.
  const std::optional<FirstLoss>& first_loss() const { return first_loss_; }

  const Readback& readback() const { return readback_; }
  void drain();  // the readback: the figures of all steps are delivered

 private:
  // The buckets of a reducer, and the names of its parameters.
  struct SavedReduction {
    std::vector<std::string> names;
    distributed::GradientReducer::Buckets buckets;
  };

  void look_at_first(DataFlow& data, const Flow& flow, const std::vector<plugins::Loss::Result>& results);
  void add_to_sums(const std::vector<plugins::Loss::Result>& results);
  void start_sums();
  void take_sums();
  void backward(const at::Tensor& total, bool keep_graph);
  void run_backward(const at::Tensor& total, bool keep_graph);
  void join_backward(const std::vector<at::Tensor>& outputs);
  void synchronize();
  void note_non_finite(const at::Tensor& numbers);
  void check_gradients();
  void post(const at::Tensor& norm);
  bool is_finite(const StepFigures& figures, const Gradients::Magnitudes* magnitudes, int64_t step) const;
  void update(const optimization::StepRates& rates);

  Training& training_;
  std::function<void(Event)> announce_;
  std::function<void(const StepFigures&)> deliver_;
  Readback readback_;
  Gradients gradients_;
  LossGroups groups_;
  std::unique_ptr<distributed::GradientReducer> reducer_;           // null: one process
  std::vector<std::string> reduced_;                                // the names of the parameters that it reduces
  std::optional<SavedReduction> saved_reduction_;                   // of a run that is resumed, for the first reducer
  std::vector<at::Tensor> buffers_;                                 // of the model, where they have to be kept equal
  std::unique_ptr<distributed::SynchronizedBatchNorm> batch_norm_;  // null: each rank normalises its own batches
  at::Tensor one_;                                                  // [] float32
  at::Tensor found_;                                                // [] float32: 1 if something is not finite
  const bool may_skip_;
  int64_t skipped_in_a_row_ = 0;
  bool has_looked_at_first_ = false;
  std::optional<FirstLoss> first_loss_;

  // Of the step in hand.
  plugins::RunPosition position_;
  std::vector<LossReading> readings_;  // of its batches
  LossSums sums_;                      // of this rank's batches, as far as the host knows them
  at::Tensor device_sums_;             // of those that it does not, see sum_elements()
  at::Tensor all_sums_;                // over batches and ranks
  distributed::ProcessGroup::Pending pending_sums_;
  distributed::ProcessGroup::Pending pending_buffers_;
  bool reduces_ = false;      // the backward in hand is the one that the ranks' gradients are summed in
  bool goes_back_ = false;    // a backward of the batch in hand was run
  bool was_skipped_ = false;  // as far as the host knows
};

}  // namespace tenon::pipeline

// One optimizer step: forward, losses and backward of its batches, and then, once, the update.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "framework/pipeline/compute_losses.h"
#include "framework/pipeline/events.h"
#include "framework/pipeline/gradients.h"
#include "framework/pipeline/loss_groups.h"
#include "framework/pipeline/readback.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// What a step gave, once the host knows it.
struct StepFigures {
  std::vector<std::vector<LossValue>> losses;  // of each batch
  double gradient_norm;                        // of all parameters, before clipping; NaN where nobody asked for it
  double loss_scale;                           // that the step was made with; 1 but in fp16
  bool was_skipped;                            // something was not finite, and no weight has changed
};

// Nothing here waits for the device: what a step gave comes with the readback, in the order of the steps. A step that
// is not finite changes no weight, nor, where the run is to end, does any after it: the device sees to that before the
// host knows.
class TrainStep {
 public:
  // `deliver` gets the figures of each step.
  TrainStep(Training& training, std::function<void(Event)> announce, std::function<void(const StepFigures&)> deliver);

  // Forward, losses and backward of the step's next batch. Throws Error(plugin) for what a component gets wrong.
  void add(const data::Batch& batch, plugins::RunPosition position);

  bool has_batches() const { return !readings_.empty(); }

  // The update from the batches that were added since the last one. with_norm: the figures have the gradient's norm.
  // Throws Error(non_finite), here or in a later call, naming the step and the loss or the first parameter.
  void finish(const optimization::StepRates& rates, bool with_norm);

  Readback& readback() { return readback_; }

 private:
  void backward(const at::Tensor& total, bool keep_graph);
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
  at::Tensor one_;    // [] float32
  at::Tensor found_;  // [] float32: 1 if something is not finite
  const bool may_skip_;
  int64_t skipped_in_a_row_ = 0;

  // Of the step in hand.
  plugins::RunPosition position_;
  std::vector<LossReading> readings_;  // of its batches
  bool was_skipped_ = false;           // as far as the host knows
};

}  // namespace tenon::pipeline

// One optimizer step: forward, losses, backward, update.
#pragma once

#include <functional>
#include <vector>

#include "framework/pipeline/events.h"
#include "framework/pipeline/loss_meter.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// Runs the step over the batch and announces its events up to optimizer_after through `announce`. Returns what the
// losses gave. A batch in which no loss has an item changes nothing. Throws Error(non_finite), before any weight has
// changed, naming the step and the loss or parameter; Error(plugin) for a backward that fails.
std::vector<LossValue> train_step(Training& training, const data::Batch& batch, const plugins::RunPosition& position,
                                  const optimization::StepRates& rates, const std::function<void(Event)>& announce);

}  // namespace tenon::pipeline

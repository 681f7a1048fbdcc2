// The state of what a run trains with (optimizer, schedule, scaler, average, random numbers), to and from a checkpoint.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/pipeline/saved_state.h"
#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// What each rank has of its own, as bytes by name.
using OwnState = std::map<std::string, std::string>;

// Everything but the model's tensors. The tensors of `saved` are those of the training itself, not copies. With several
// ranks all call it, each with its own state under the same names, and rank 0 gets everything.
//
// Where there is an average, what is saved as the model are the averaged weights, and those that training goes on with
// are here: `weights.<name>`.
void save_training(const Training& training, const OwnState& own, SavedState& saved);

// Takes it on, with the tensors that were saved as the model, and returns this rank's own state; nothing of a rank that
// the run did not have then. Throws Error(checkpoint) naming what does not fit.
OwnState load_training(Training& training, const std::vector<optimization::NamedTensor>& model,
                       const SavedState& saved);

// The tensors of a checkpoint's model into this one. Throws Error(checkpoint) naming what does not fit.
void put_weights(const plugins::Model& model, const std::vector<optimization::NamedTensor>& stored);

}  // namespace tenon::pipeline

// Applies [[optimizer.group]], `decay` and `layer_decay` to the names of a model's parameters.
#pragma once

#include <cstdint>
#include <limits>
#include <string>
#include <vector>

#include "framework/config/plan/optimizer_plan.h"

namespace tenon::optimization {

struct ParameterShape {
  std::string name;
  int64_t dimensions;
};

struct ParameterRates {
  static constexpr int64_t kAlwaysFrozen = std::numeric_limits<int64_t>::max();

  double lr_scale = 1;  // multiplies the schedule's rate
  double weight_decay = 0;
  int64_t frozen_epochs = 0;        // counted from the first epoch; kAlwaysFrozen
  bool is_left_to_adamw = false;    // with Muon: AdamW updates it
  bool freezes_batch_norm = false;  // while frozen, the batch norm that it belongs to runs in evaluation mode

  bool is_frozen(int64_t epoch) const { return epoch <= frozen_epochs; }
  bool is_always_frozen() const { return frozen_epochs == kAlwaysFrozen; }
};

// In the order of the parameters. Throws Error(configuration) naming the location for a pattern that matches no name,
// and if no parameter is trainable in the first epoch.
std::vector<ParameterRates> assign_rates(const config::OptimizerPlan& plan,
                                         const std::vector<ParameterShape>& parameters);

// One line per parameter for the log: "head.weight: lr x 0.5, weight decay 0.01, frozen in epochs 1 to 3".
std::string describe_rates(const std::vector<ParameterShape>& parameters, const std::vector<ParameterRates>& rates);

// The depth of each parameter, from 0, in the order in which the model registered them:
//  1. A parameter belongs to a block. The block's name is the start of the parameter's name up to and including the
//     first part that is a number ("stages.2" of "stages.2.blocks.0.weight"). Without a number it is the first part
//     ("head" of "head.weight").
//  2. Blocks are numbered by their first parameters, each one deeper than the block before it.
//  3. If any name in the model has a number, consecutive blocks without one share a depth ("cls_token", "pos_embed" and
//     "patch_embed", or "norm" and "head"). For vision transformers this gives the layers of BEiT, arXiv:2106.08254.
std::vector<int64_t> layer_depths(const std::vector<std::string>& names);

}  // namespace tenon::optimization

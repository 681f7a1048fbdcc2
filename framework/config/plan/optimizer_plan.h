// [optimizer] with all defaults: the update rule of the parameters and their learning rates.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <variant>
#include <vector>

#include "framework/config/values/enum_names.h"

namespace tenon::config {

// `use = "sgd"`
struct SgdPlan {
  double momentum = 0;
  double dampening = 0;
  bool nesterov = false;
};

// `use = "adam"`, with the decay as an L2 penalty in the gradient, or `"adamw"`, with decoupled weight decay.
struct AdamPlan {
  enum class Decay { coupled, decoupled } decay = Decay::decoupled;
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  bool amsgrad = false;
};

// `use = "rmsprop"`
struct RmsPropPlan {
  double alpha = 0.99;
  double eps = 1e-8;
  double momentum = 0;
  bool centered = false;
};

// `use = "adagrad"`
struct AdagradPlan {
  double lr_decay = 0;
  double initial_accumulator_value = 0;
  double eps = 1e-10;
};

// `use = "lion"`
struct LionPlan {
  std::array<double, 2> betas = {0.9, 0.99};
};

// `use = "muon"`
struct MuonPlan {
  double momentum = 0.95;
  bool nesterov = true;
  std::array<double, 3> ns_coefficients = {3.4445, -4.775, 2.0315};
  int64_t ns_steps = 5;
  double eps = 1e-7;
  enum class AdjustLr { original, match_rms_adamw } adjust_lr = AdjustLr::original;

  // AdamW updates the parameters with names that match these patterns, and all that are not matrices.
  std::vector<std::string> adamw_match = {"*embed*", "*head*", "*classifier*"};
  double adamw_lr_scale = 1;  // times lr
  double adamw_weight_decay = 0.01;
  AdamPlan adamw = {};
};
template <>
inline constexpr std::array kNames<MuonPlan::AdjustLr> = {
    EnumName{MuonPlan::AdjustLr::original, "original"},
    EnumName{MuonPlan::AdjustLr::match_rms_adamw, "match_rms_adamw"}};

// `use = "schedule_free_adamw"`
struct ScheduleFreeAdamWPlan {
  std::array<double, 2> betas = {0.9, 0.999};
  double eps = 1e-8;
  double r = 0;                // step k has a weight in the average that grows with k^r
  double weight_lr_power = 2;  // and with the largest learning rate so far to this power
};

// A table [[optimizer.group]]: a parameter group with separate options.
struct ParameterGroupPlan {
  std::vector<std::string> match;      // name patterns, `*` matches anything; at least one
  double lr_scale = 1;                 // factor of the scheduled learning rate
  std::optional<double> weight_decay;  // of all parameters of the group, including vectors; none: the optimizer's
  bool frozen = false;                 // never updated
  int64_t frozen_epochs = 0;           // number of first epochs without updates
  bool eval_batch_norm = false;        // while frozen, its batch norms run in evaluation mode
  std::string path;                    // "optimizer.group.0"
  std::string place;                   // location of `match`, for messages
};

struct OptimizerPlan {
  std::variant<SgdPlan, AdamPlan, RmsPropPlan, AdagradPlan, LionPlan, MuonPlan, ScheduleFreeAdamWPlan> rule = {};
  double lr = 0;
  double weight_decay = 0;
  // The parameters with weight decay: those with two or more dimensions (the default), or all.
  enum class Decay { matrices, all } decay = Decay::matrices;
  double layer_decay = 1;                       // 1: no layer-wise decay
  std::vector<ParameterGroupPlan> groups = {};  // the first matching group applies
  std::string place = {};                       // location of the table, for messages
};
template <>
inline constexpr std::array kNames<OptimizerPlan::Decay> = {EnumName{OptimizerPlan::Decay::matrices, "matrices"},
                                                            EnumName{OptimizerPlan::Decay::all, "all"}};

}  // namespace tenon::config

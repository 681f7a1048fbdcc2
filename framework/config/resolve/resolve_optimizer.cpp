#include "framework/config/resolve/resolve_optimizer.h"

#include <algorithm>

#include "framework/config/resolve/resolve_choice.h"

namespace tenon::config {
namespace {

// A list that must have N numbers. A list of another length adds an error and returns zeros.
template <size_t N>
std::array<double, N> get_numbers(const Values& values, const std::string& name, const ComponentConfig& config,
                                  const char* expected, Diagnostics& diagnostics) {
  const auto& list = std::get<std::vector<double>>(values.at(name));
  std::array<double, N> numbers = {};
  if (list.size() == N) {
    std::copy(list.begin(), list.end(), numbers.begin());
  } else {
    const Node& written = config.params.at(name);
    diagnostics.add(written.place, config.path + "." + name + " is " + describe(written) + "; expected " + expected);
  }
  return numbers;
}

std::array<double, 2> get_betas(const Values& values, const std::string& name, const ComponentConfig& config,
                                Diagnostics& diagnostics) {
  return get_numbers<2>(values, name, config, "two numbers, such as [0.9, 0.999]", diagnostics);
}

SgdPlan resolve_sgd(const Values& values, const ComponentConfig& config, Diagnostics& diagnostics) {
  const SgdPlan sgd{get<double>(values, "momentum"), get<double>(values, "dampening"), get<bool>(values, "nesterov")};
  if (sgd.nesterov && (sgd.momentum == 0 || sgd.dampening != 0)) {
    diagnostics.add(config.params.at("nesterov").place,
                    "optimizer.nesterov is true with momentum " + to_toml(sgd.momentum) + " and dampening " +
                        to_toml(sgd.dampening) + "; expected momentum above 0 and dampening 0");
  }
  return sgd;
}

AdamPlan resolve_adam(const Values& values, const ComponentConfig& config, AdamPlan::Decay decay,
                      Diagnostics& diagnostics) {
  return {decay, get_betas(values, "betas", config, diagnostics), get<double>(values, "eps"),
          get<bool>(values, "amsgrad")};
}

MuonPlan resolve_muon(const Values& values, const ComponentConfig& config, Diagnostics& diagnostics) {
  MuonPlan muon;
  muon.momentum = get<double>(values, "momentum");
  muon.nesterov = get<bool>(values, "nesterov");
  muon.ns_coefficients =
      get_numbers<3>(values, "ns_coefficients", config, "three numbers, such as [3.4445, -4.775, 2.0315]", diagnostics);
  muon.ns_steps = get<int64_t>(values, "ns_steps");
  muon.eps = get<double>(values, "eps");
  const bool matches_rms = get<std::string>(values, "adjust_lr") == "match_rms_adamw";
  muon.adjust_lr = matches_rms ? MuonPlan::AdjustLr::match_rms_adamw : MuonPlan::AdjustLr::original;
  muon.adamw_match = get<std::vector<std::string>>(values, "adamw_match");
  muon.adamw_lr_scale = get<double>(values, "adamw_lr_scale");
  muon.adamw_weight_decay = get<double>(values, "adamw_weight_decay");
  muon.adamw = {AdamPlan::Decay::decoupled, get_betas(values, "adamw_betas", config, diagnostics),
                get<double>(values, "adamw_eps"), false};
  return muon;
}

// An average of bfloat16 numbers loses changes of less than 0.4 %, and so does not follow the weights.
void refuse_bf16_true(const Resolving& resolving) {
  const Setting<std::string>& precision = resolving.config.train.precision;
  if (precision.value_or("") == "bf16_true")
    resolving.diagnostics.add(
        precision.place,
        "train.precision is \"bf16_true\", where optimizer.use = \"schedule_free_adamw\" averages "
        "the weights too coarsely; set train.precision = \"bf16\", which keeps the average in "
        "float32");
}

// The optimizer averages the weights itself.
void refuse_average(const Resolving& resolving) {
  const auto& average = resolving.config.train.average;
  if (average)
    resolving.diagnostics.add(
        average->use.place,
        "train.average is set together with optimizer.use = \"schedule_free_adamw\", which averages "
        "the weights itself; remove [train.average]");
}

ParameterGroupPlan resolve_group(const ParameterGroupConfig& config, Diagnostics& diagnostics) {
  ParameterGroupPlan group;
  group.match = config.match.value_or({});
  group.lr_scale = config.lr_scale.value_or(1);
  group.weight_decay = config.weight_decay.value;
  group.frozen = config.frozen.value_or(false);
  group.frozen_epochs = config.frozen_epochs.value_or(0);
  group.eval_batch_norm = config.eval_batch_norm.value_or(false);
  group.path = config.path;
  group.place = to_string(config.match.place);
  if (group.match.empty()) {
    const std::string found = config.match.value ? "[]" : "missing";
    diagnostics.add(config.match.place, config.path + ".match is " + found +
                                            "; expected patterns of parameter names, such as [\"head.*\", \"*.bias\"]");
  }
  const bool has_rates = config.lr_scale.value || config.weight_decay.value || config.frozen_epochs.value;
  if (group.frozen && has_rates) {
    diagnostics.add(config.frozen.place, config.path +
                                             ".frozen is true together with lr_scale, weight_decay or frozen_epochs; "
                                             "frozen parameters are never updated, so remove the other keys");
  }
  if (group.eval_batch_norm && !group.frozen && group.frozen_epochs == 0) {
    diagnostics.add(config.eval_batch_norm.place, config.path +
                                                      ".eval_batch_norm is true, but the parameters are trained; "
                                                      "expected frozen = true or frozen_epochs");
  }
  return group;
}

}  // namespace

OptimizerPlan resolve_optimizer(const Resolving& resolving) {
  const OptimizerConfig& config = resolving.config.optimizer;
  Diagnostics& diagnostics = resolving.diagnostics;
  OptimizerPlan plan;
  plan.place = to_string(config.use.place);
  for (const ParameterGroupConfig& group : config.groups) plan.groups.push_back(resolve_group(group, diagnostics));
  const std::string id = config.use.value_or("");
  const auto values = resolve_choice(config, "optimizer", optimizer_schemas(), id, resolving);
  if (!values) return plan;
  plan.lr = get<double>(*values, "lr");
  plan.weight_decay = get<double>(*values, "weight_decay");
  plan.decay = get<std::string>(*values, "decay") == "all" ? OptimizerPlan::Decay::all : OptimizerPlan::Decay::matrices;
  plan.layer_decay = get<double>(*values, "layer_decay");
  if (id == "sgd") {
    plan.rule = resolve_sgd(*values, config, diagnostics);
  } else if (id == "adam") {
    plan.rule = resolve_adam(*values, config, AdamPlan::Decay::coupled, diagnostics);
  } else if (id == "adamw") {
    plan.rule = resolve_adam(*values, config, AdamPlan::Decay::decoupled, diagnostics);
  } else if (id == "rmsprop") {
    plan.rule = RmsPropPlan{get<double>(*values, "alpha"), get<double>(*values, "eps"),
                            get<double>(*values, "momentum"), get<bool>(*values, "centered")};
  } else if (id == "adagrad") {
    plan.rule = AdagradPlan{get<double>(*values, "lr_decay"), get<double>(*values, "initial_accumulator_value"),
                            get<double>(*values, "eps")};
  } else if (id == "lion") {
    plan.rule = LionPlan{get_betas(*values, "betas", config, diagnostics)};
  } else if (id == "schedule_free_adamw") {
    plan.rule = ScheduleFreeAdamWPlan{get_betas(*values, "betas", config, diagnostics), get<double>(*values, "eps"),
                                      get<double>(*values, "r"), get<double>(*values, "weight_lr_power")};
    refuse_average(resolving);
    refuse_bf16_true(resolving);
  } else {
    plan.rule = resolve_muon(*values, config, diagnostics);
  }
  return plan;
}

}  // namespace tenon::config

#include "framework/config/resolve/resolve_optimizer.h"

#include <algorithm>

#include "framework/config/file/optimizer_keys.h"
#include "framework/config/file/schema_keys.h"
#include "framework/config/resolve/resolve_choice.h"

namespace tenon::config {
namespace {

void check_nesterov(const SgdPlan& sgd, const ComponentConfig& config, Diagnostics& diagnostics) {
  if (sgd.nesterov && (sgd.momentum == 0 || sgd.dampening != 0))
    diagnostics.add(config.params.at("nesterov").place,
                    "optimizer.nesterov is true with momentum " + to_toml(sgd.momentum) + " and dampening " +
                        to_toml(sgd.dampening) + "; expected momentum above 0 and dampening 0");
}

// An average of bfloat16 numbers loses changes of less than 0.4 %, and so does not follow the weights.
void refuse_bf16_true(const Resolving& resolving) {
  if (resolving.config.plan.train.precision == Precision::bf16_true)
    resolving.diagnostics.add(
        resolving.config.place_of("train.precision"),
        "train.precision is \"bf16_true\", where optimizer.use = \"schedule_free_adamw\" averages "
        "the weights too coarsely; set train.precision = \"bf16\", which keeps the average in "
        "float32");
}

// The optimizer averages the weights itself.
void refuse_average(const Resolving& resolving) {
  if (resolving.config.plan.train.average)
    resolving.diagnostics.add(
        resolving.config.place_of("train.average.use"),
        "train.average is set together with optimizer.use = \"schedule_free_adamw\", which averages "
        "the weights itself; remove [train.average]");
}

void check_group(const ParameterGroupPlan& group, const Resolving& resolving) {
  const auto key = [&](const char* name) { return resolving.config.key(group.path + "." + name); };
  Diagnostics& diagnostics = resolving.diagnostics;
  if (group.match.empty())
    diagnostics.add(key("match").place, group.path + ".match is " + (key("match").is_set ? "[]" : "missing") +
                                            "; expected patterns of parameter names, such as [\"head.*\", \"*.bias\"]");
  const bool has_rates = key("lr_scale").is_set || key("weight_decay").is_set || key("frozen_epochs").is_set;
  if (group.frozen && has_rates)
    diagnostics.add(key("frozen").place, group.path +
                                             ".frozen is true together with lr_scale, weight_decay or frozen_epochs; "
                                             "frozen parameters are never updated, so remove the other keys");
  if (group.eval_batch_norm && !group.frozen && group.frozen_epochs == 0)
    diagnostics.add(key("eval_batch_norm").place, group.path +
                                                      ".eval_batch_norm is true, but the parameters are trained; "
                                                      "expected frozen = true or frozen_epochs");
}

}  // namespace

void resolve_optimizer(OptimizerPlan& plan, const Resolving& resolving) {
  const ComponentConfig& config = resolving.config.optimizer;
  for (const ParameterGroupPlan& group : plan.groups) check_group(group, resolving);
  plan.place = to_string(config.use.place);
  const std::string id = config.use.value_or("");
  const auto values = resolve_choice(config, "optimizer", optimizer_schemas(), id, resolving);
  if (!values) return;
  OptimizerPlan chosen = std::ranges::find(optimizer_choices(), id, &OptimizerChoice::use)->defaults;
  ValueKeys keys(*values, config, resolving.diagnostics);
  declare(keys, chosen);
  chosen.groups = std::move(plan.groups);
  chosen.place = std::move(plan.place);
  plan = std::move(chosen);
  if (const auto* sgd = std::get_if<SgdPlan>(&plan.rule)) check_nesterov(*sgd, config, resolving.diagnostics);
  if (std::holds_alternative<ScheduleFreeAdamWPlan>(plan.rule)) {
    refuse_average(resolving);
    refuse_bf16_true(resolving);
  }
}

}  // namespace tenon::config

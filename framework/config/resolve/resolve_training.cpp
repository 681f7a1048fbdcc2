#include "framework/config/resolve/resolve_training.h"

#include <algorithm>

#include "framework/config/file/optimizer_keys.h"
#include "framework/config/file/schedule_keys.h"
#include "framework/config/file/schema_keys.h"
#include "framework/config/resolve/resolve_component.h"
#include "framework/config/toml/value.h"
#include "framework/support/text/format.h"

namespace tenon::config {
namespace {

// The averaged weights must not depend on how long a step takes.
void check_counts_steps(const Period& period, const std::string& key, const char* example, const Resolving& resolving) {
  const bool counts_steps = period.unit == Period::Unit::steps || period.unit == Period::Unit::epochs;
  if (resolving.config.key(key).is_set && !counts_steps)
    resolving.add(key, "is {}; expected steps or epochs, such as \"{}\"", to_toml(to_string(period)), example);
}

void resolve_average(AveragePlan& average, const Resolving& resolving) {
  const RunConfig& config = resolving.config;
  if (!config.key("train.average.use").is_set)
    return resolving.add("train.average.use", "is missing; expected \"ema\" or \"swa\"");
  if (average.kind == AveragePlan::Kind::swa) {
    if (!config.key("train.average.every").is_set) average.every = {Period::Unit::epochs, 1};
    if (average.warm_up)
      resolving.add("train.average.warm_up",
                    "is true, but use = \"swa\" has no decay; set use = \"ema\", or remove warm_up");
    if (config.key("train.average.decay").is_set)
      resolving.add("train.average.decay",
                    "is {}, but use = \"swa\" gives all weights the same share; set use = \"ema\", or remove decay",
                    to_toml(average.decay));
  }
  check_counts_steps(average.start, "train.average.start", "5 epochs", resolving);
  check_counts_steps(average.every, "train.average.every", "1 step", resolving);
}

// The optimizer averages the weights itself. An average of bfloat16 numbers loses changes of less than 0.4 %, and so
// does not follow the weights.
void check_schedule_free(const Resolving& resolving) {
  const TrainSection& train = resolving.config.declared.train;
  if (train.average)
    resolving.diagnostics.add(resolving.config.place_of("train.average.use"),
                              "train.average is set together with optimizer.use = \"schedule_free_adamw\", which "
                              "averages the weights itself; remove [train.average]");
  if (train.precision == Precision::bf16_true)
    resolving.add("train.precision",
                  "is \"bf16_true\", where optimizer.use = \"schedule_free_adamw\" averages the weights too coarsely; "
                  "set train.precision = \"bf16\", which keeps the average in float32");
}

void check_group(const ParameterGroupPlan& group, const Resolving& resolving) {
  const auto is_set = [&](const char* name) { return resolving.config.key(group.path + "." + name).is_set; };
  if (group.match.empty())
    resolving.add(group.path + ".match",
                  "is {}; expected patterns of parameter names, such as [\"head.*\", \"*.bias\"]",
                  is_set("match") ? "[]" : "missing");
  if (group.frozen && (is_set("lr_scale") || is_set("weight_decay") || is_set("frozen_epochs")))
    resolving.add(group.path + ".frozen",
                  "is true together with lr_scale, weight_decay or frozen_epochs; frozen parameters are never updated, "
                  "so remove the other keys");
  if (group.eval_batch_norm && !group.frozen && group.frozen_epochs == 0)
    resolving.add(group.path + ".eval_batch_norm",
                  "is true, but the parameters are trained; expected frozen = true or frozen_epochs");
}

void write_as_text(Node& node, const std::string& path, const std::string& name, Diagnostics& diagnostics) {
  const auto length = read_schedule_length(node);
  // Only a warm-up can have length 0.
  const bool is_possible =
      length && (name == "warmup" || length->count > 0 || length->unit == ScheduleLength::Unit::rest);
  if (!is_possible) diagnostics.add(node.place, "{} is {}; expected {}", path, describe(node), kScheduleLengthExamples);
  node.value = is_possible ? to_text(*length) : "1 step";
}

// `warmup_steps = 500` is `warmup = "500 steps"`.
void rename_warmup_steps(ComponentConfig& config, Diagnostics& diagnostics) {
  const auto steps = config.params.find("warmup_steps");
  if (steps == config.params.end()) return;
  Node node = steps->second;
  config.params.erase(steps);
  const auto* count = std::get_if<int64_t>(&node.value);
  const auto other = config.params.find("warmup");
  if (other != config.params.end()) {
    diagnostics.add(node.key_place, "schedule.warmup_steps and schedule.warmup are both set; expected one of them");
  } else if (count == nullptr || !read_schedule_length(node)) {
    diagnostics.add(node.place, "schedule.warmup_steps is {}; expected an integer in [0, 1e15]", describe(node));
  } else {
    config.params.emplace("warmup", std::move(node));
  }
}

// The message of the schema would request a string.
void require_length(ComponentConfig& config, const char* name, Diagnostics& diagnostics) {
  if (config.params.count(name) > 0) return;
  diagnostics.add(config.place, "{}.{} is missing; expected {}", config.path, name, kScheduleLengthExamples);
  config.params.emplace(name, Node{std::string("1 step"), config.place, config.place, {}});
}

// Returns the table with all lengths as text.
ComponentConfig write_lengths_as_text(ComponentConfig config, Diagnostics& diagnostics) {
  rename_warmup_steps(config, diagnostics);
  if (config.use.value == "step") require_length(config, "step_size", diagnostics);
  if (config.use.value == "cosine_restarts") require_length(config, "t_0", diagnostics);
  for (auto& [name, node] : config.params) {
    if (is_schedule_length(name)) write_as_text(node, config.path + "." + name, name, diagnostics);
    Node::Array* list = node.as_array();
    if (name != "milestones" || list == nullptr) continue;
    for (size_t i = 0; i < list->size(); ++i)
      write_as_text((*list)[i], fmt::format("{}.milestones.{}", config.path, i), name, diagnostics);
  }
  return config;
}

bool has_momentum(const OptimizerPlan& optimizer) {
  if (const auto* sgd = std::get_if<SgdPlan>(&optimizer.rule)) return sgd->momentum > 0;
  if (const auto* rmsprop = std::get_if<RmsPropPlan>(&optimizer.rule)) return rmsprop->momentum > 0;
  if (const auto* muon = std::get_if<MuonPlan>(&optimizer.rule)) return muon->momentum > 0;
  return !std::holds_alternative<AdagradPlan>(optimizer.rule);
}

}  // namespace

void resolve_train(RunPlan& plan, const Resolving& resolving) {
  const RunConfig& config = resolving.config;
  Diagnostics& diagnostics = resolving.diagnostics;
  TrainSection& train = plan.train;
  const FoundKey &epochs = config.key("train.epochs"), &steps = config.key("train.steps");
  if (epochs.is_set && steps.is_set)
    diagnostics.add(std::max(epochs.place, steps.place),
                    "train.epochs and train.steps are both set; expected one of them");
  else if (!epochs.is_set && !steps.is_set)
    diagnostics.add(epochs.place, "train.epochs is missing; expected epochs or steps, such as epochs = 10");
  train.place = to_string(epochs.is_set ? epochs.place : steps.place);
  train.precision_place = to_string(config.place_of("train.precision"));
  // The fastest algorithm may differ from run to run, and with it the last bits of the results.
  if (train.cudnn_benchmark == CudnnBenchmark::on && plan.run.deterministic != Determinism::off)
    resolving.add("train.cudnn_benchmark",
                  "is true with run.deterministic, but the selected algorithms may differ from run to run; set "
                  "train.cudnn_benchmark to \"auto\" or false, or remove it");
  if (!train.average) return;
  resolve_average(*train.average, resolving);
  // An average of bfloat16 numbers loses changes of less than 0.4 %, and so does not follow the weights.
  if (train.precision == Precision::bf16_true)
    diagnostics.add(
        config.place_of("train.average.use"),
        "train.average is set with train.precision = \"bf16_true\", where the average is too coarse to follow the "
        "weights; set train.precision = \"bf16\", which keeps it in float32, or remove [train.average]");
}

void resolve_optimizer(OptimizerPlan& plan, const Resolving& resolving) {
  const ComponentConfig& config = resolving.config.optimizer;
  for (const ParameterGroupPlan& group : plan.groups) check_group(group, resolving);
  plan.place = to_string(config.use.place);
  const std::string id = config.use.value_or("");
  const auto values = resolve_choice(config, "optimizer", optimizer_schemas(), id, resolving);
  if (!values) return;
  OptimizerPlan chosen = std::ranges::find(optimizer_choices(), id, &PlanChoice<OptimizerPlan>::use)->defaults;
  ValueKeys keys(*values, config, resolving.diagnostics);
  declare(keys, chosen);
  chosen.groups = std::move(plan.groups);
  chosen.place = std::move(plan.place);
  plan = std::move(chosen);
  const auto* const sgd = std::get_if<SgdPlan>(&plan.rule);
  if (sgd != nullptr && sgd->nesterov && (sgd->momentum == 0 || sgd->dampening != 0))
    resolving.diagnostics.add(
        config.params.at("nesterov").place,
        "optimizer.nesterov is true with momentum {} and dampening {}; expected momentum above 0 and dampening 0",
        to_toml(sgd->momentum), to_toml(sgd->dampening));
  if (std::holds_alternative<ScheduleFreeAdamWPlan>(plan.rule)) check_schedule_free(resolving);
}

SchedulePlan resolve_schedule(const Resolving& resolving, const OptimizerPlan& optimizer) {
  Diagnostics& diagnostics = resolving.diagnostics;
  const ComponentConfig config = write_lengths_as_text(resolving.config.schedule, diagnostics);
  const std::string id = config.use.value_or("constant");
  const auto values = resolve_choice(config, "schedule", schedule_schemas(), id, resolving);
  SchedulePlan plan;
  if (values) {
    plan = std::ranges::find(schedule_choices(), id, &PlanChoice<SchedulePlan>::use)->defaults;
    ValueKeys keys(*values, config, diagnostics);
    declare(keys, plan);
  }
  plan.place = to_string(config.use.place);
  // The average of the weights replaces the decay of the learning rate.
  if (id != "constant" && values && std::holds_alternative<ScheduleFreeAdamWPlan>(optimizer.rule))
    diagnostics.add(config.use.place,
                    "schedule.use is {} together with optimizer.use = \"schedule_free_adamw\", which averages weights "
                    "instead of lowering the learning rate; expected \"constant\", with or without a warm-up",
                    to_toml(id));
  const auto* const one_cycle = std::get_if<OneCycleSchedule>(&plan.shape);
  if (one_cycle != nullptr && one_cycle->cycle_momentum && !has_momentum(optimizer))
    diagnostics.add(config.params.at("cycle_momentum").place,
                    "schedule.cycle_momentum is true, but the optimizer has no momentum; use an optimizer with "
                    "momentum, or remove schedule.cycle_momentum");
  const auto* const multi_step = std::get_if<MultiStepSchedule>(&plan.shape);
  if (multi_step != nullptr && multi_step->milestones.empty())
    diagnostics.add(
        config.params.at("milestones").place,
        "schedule.milestones is []; expected when the learning rate falls, such as [\"30 epochs\", \"60 epochs\"]");
  return plan;
}

}  // namespace tenon::config

#include "framework/config/resolve/resolve_schedule.h"

#include <algorithm>

#include "framework/config/file/schedule_keys.h"
#include "framework/config/file/schema_keys.h"
#include "framework/config/resolve/resolve_choice.h"

namespace tenon::config {
namespace {

void write_as_text(Node& node, const std::string& path, const std::string& name, Diagnostics& diagnostics) {
  const auto length = read_schedule_length(node);
  // Only a warm-up can have length 0.
  const bool is_possible =
      length && (name == "warmup" || length->count > 0 || length->unit == ScheduleLength::Unit::rest);
  if (!is_possible)
    diagnostics.add(node.place, path + " is " + describe(node) + "; expected " + kScheduleLengthExamples);
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
    diagnostics.add(node.place, "schedule.warmup_steps is " + describe(node) + "; expected an integer in [0, 1e15]");
  } else {
    config.params.emplace("warmup", std::move(node));
  }
}

// The message of the schema would request a string.
void require_length(ComponentConfig& config, const char* name, Diagnostics& diagnostics) {
  if (config.params.count(name) > 0) return;
  diagnostics.add(config.place, config.path + "." + name + " is missing; expected " + kScheduleLengthExamples);
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
      write_as_text((*list)[i], config.path + ".milestones." + std::to_string(i), name, diagnostics);
  }
  return config;
}

bool has_momentum(const OptimizerPlan& optimizer) {
  if (const auto* sgd = std::get_if<SgdPlan>(&optimizer.rule)) return sgd->momentum > 0;
  if (const auto* rmsprop = std::get_if<RmsPropPlan>(&optimizer.rule)) return rmsprop->momentum > 0;
  if (const auto* muon = std::get_if<MuonPlan>(&optimizer.rule)) return muon->momentum > 0;
  return !std::holds_alternative<AdagradPlan>(optimizer.rule);
}

void check_momentum(const OneCycleSchedule& one_cycle, const ComponentConfig& config, const OptimizerPlan& optimizer,
                    Diagnostics& diagnostics) {
  if (one_cycle.cycle_momentum && !has_momentum(optimizer))
    diagnostics.add(
        config.params.at("cycle_momentum").place,
        "schedule.cycle_momentum is true, but the optimizer has no momentum; use an optimizer with momentum, or "
        "remove schedule.cycle_momentum");
}

void check_milestones(const MultiStepSchedule& multi_step, const ComponentConfig& config, Diagnostics& diagnostics) {
  if (multi_step.milestones.empty())
    diagnostics.add(
        config.params.at("milestones").place,
        "schedule.milestones is []; expected when the learning rate falls, such as [\"30 epochs\", \"60 epochs\"]");
}

// The average of the weights replaces the decay of the learning rate.
void refuse_decay(const std::string& id, const ComponentConfig& config, Diagnostics& diagnostics) {
  diagnostics.add(config.use.place,
                  "schedule.use is " + to_toml(id) +
                      " together with optimizer.use = \"schedule_free_adamw\", which averages weights "
                      "instead of lowering the learning rate; expected \"constant\", with or without "
                      "a warm-up");
}

}  // namespace

SchedulePlan resolve_schedule(const Resolving& resolving, const OptimizerPlan& optimizer) {
  Diagnostics& diagnostics = resolving.diagnostics;
  const ComponentConfig config = write_lengths_as_text(resolving.config.schedule, diagnostics);
  const std::string id = config.use.value_or("constant");
  const auto values = resolve_choice(config, "schedule", schedule_schemas(), id, resolving);
  SchedulePlan plan;
  if (values) {
    plan = std::ranges::find(schedule_choices(), id, &ScheduleChoice::use)->defaults;
    ValueKeys keys(*values, config, diagnostics);
    declare(keys, plan);
  }
  plan.place = to_string(config.use.place);
  if (id != "constant" && values && std::holds_alternative<ScheduleFreeAdamWPlan>(optimizer.rule))
    refuse_decay(id, config, diagnostics);
  if (const auto* one_cycle = std::get_if<OneCycleSchedule>(&plan.shape))
    check_momentum(*one_cycle, config, optimizer, diagnostics);
  if (const auto* multi_step = std::get_if<MultiStepSchedule>(&plan.shape))
    check_milestones(*multi_step, config, diagnostics);
  return plan;
}

}  // namespace tenon::config

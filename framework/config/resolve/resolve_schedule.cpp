#include "framework/config/resolve/resolve_schedule.h"

#include "framework/config/resolve/resolve_choice.h"
#include "framework/support/check.h"

namespace tenon::config {
namespace {

// A length as text, which is the form that the schemas accept: "0.05", "1000 steps".
std::string write(const ScheduleLength& length) {
  const Value value = to_value(length);
  const auto* text = std::get_if<std::string>(&value);
  return text != nullptr ? *text : to_toml(value);
}

ScheduleLength read_back(const std::string& text) {
  const auto number = parse_toml_value(text, {});
  const auto length = read_schedule_length(number ? *number : Node{text, {}, {}, {}});
  TENON_CHECK(length, text);
  return *length;
}

void write_as_text(Node& node, const std::string& path, const std::string& name, Diagnostics& diagnostics) {
  const auto length = read_schedule_length(node);
  // Only a warm-up can have length 0.
  const bool is_possible =
      length && (name == "warmup" || length->count > 0 || length->unit == ScheduleLength::Unit::rest);
  if (!is_possible)
    diagnostics.add(node.place, path + " is " + describe(node) + "; expected " + kScheduleLengthExamples);
  node.value = is_possible ? write(*length) : "1 step";
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

OneCycleSchedule resolve_one_cycle(const Values& values, const ComponentConfig& config, const OptimizerPlan& optimizer,
                                   Diagnostics& diagnostics) {
  const bool is_linear = get<std::string>(values, "anneal") == "linear";
  const OneCycleSchedule one_cycle{get<double>(values, "warmup_fraction"),
                                   get<double>(values, "div_factor"),
                                   get<double>(values, "final_div_factor"),
                                   is_linear ? OneCycleSchedule::Anneal::linear : OneCycleSchedule::Anneal::cosine,
                                   get<bool>(values, "cycle_momentum"),
                                   get<double>(values, "base_momentum"),
                                   get<double>(values, "max_momentum")};
  if (one_cycle.cycle_momentum && !has_momentum(optimizer))
    diagnostics.add(
        config.params.at("cycle_momentum").place,
        "schedule.cycle_momentum is true, but the optimizer has no momentum; use an optimizer with momentum, or "
        "remove schedule.cycle_momentum");
  return one_cycle;
}

MultiStepSchedule resolve_multi_step(const Values& values, const ComponentConfig& config, Diagnostics& diagnostics) {
  MultiStepSchedule multi_step{{}, get<double>(values, "gamma")};
  for (const std::string& text : get<std::vector<std::string>>(values, "milestones"))
    multi_step.milestones.push_back(read_back(text));
  if (multi_step.milestones.empty())
    diagnostics.add(
        config.params.at("milestones").place,
        "schedule.milestones is []; expected when the learning rate falls, such as [\"30 epochs\", \"60 epochs\"]");
  return multi_step;
}

WarmupStableDecaySchedule resolve_warmup_stable_decay(const Values& values) {
  using Shape = WarmupStableDecaySchedule::Shape;
  const auto name = get<std::string>(values, "shape");
  const Shape shape = name == "cosine" ? Shape::cosine : name == "linear" ? Shape::linear : Shape::one_minus_sqrt;
  return {read_back(get<std::string>(values, "decay")), shape, get<double>(values, "end_factor")};
}

PlateauSchedule resolve_plateau(const Values& values) {
  using Mode = PlateauSchedule::Mode;
  using ThresholdMode = PlateauSchedule::ThresholdMode;
  return {get<std::string>(values, "monitor"),
          get<std::string>(values, "mode") == "max" ? Mode::max : Mode::min,
          get<double>(values, "factor"),
          get<int64_t>(values, "patience"),
          get<double>(values, "threshold"),
          get<std::string>(values, "threshold_mode") == "abs" ? ThresholdMode::absolute : ThresholdMode::relative,
          get<int64_t>(values, "cooldown"),
          get<double>(values, "min_lr"),
          get<double>(values, "eps")};
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
  plan.place = to_string(config.use.place);
  if (!values) return plan;
  const auto length = [&](const char* name) { return read_back(get<std::string>(*values, name)); };
  const auto number = [&](const char* name) { return get<double>(*values, name); };
  if (id != "constant" && std::holds_alternative<ScheduleFreeAdamWPlan>(optimizer.rule))
    refuse_decay(id, config, diagnostics);
  plan.warmup = length("warmup");
  plan.warmup_start_factor = number("warmup_start_factor");
  if (id == "linear") plan.shape = LinearSchedule{number("end_factor"), length("length")};
  if (id == "cosine") plan.shape = CosineSchedule{number("eta_min"), length("length")};
  if (id == "cosine_restarts")
    plan.shape = CosineRestartsSchedule{length("t_0"), get<int64_t>(*values, "t_mult"), number("eta_min")};
  if (id == "one_cycle") plan.shape = resolve_one_cycle(*values, config, optimizer, diagnostics);
  if (id == "polynomial") plan.shape = PolynomialSchedule{number("power"), length("length")};
  if (id == "step") plan.shape = StepSchedule{length("step_size"), number("gamma")};
  if (id == "multi_step") plan.shape = resolve_multi_step(*values, config, diagnostics);
  if (id == "exponential") plan.shape = ExponentialSchedule{number("gamma"), length("every")};
  if (id == "warmup_stable_decay") plan.shape = resolve_warmup_stable_decay(*values);
  if (id == "reduce_on_plateau") plan.shape = resolve_plateau(*values);
  return plan;
}

}  // namespace tenon::config

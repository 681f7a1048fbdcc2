#include "framework/pipeline/build/metric_set.h"

#include <torch/types.h>

#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::pipeline {

using config::ComponentKind;
using support::Error;
using support::ErrorKind;

namespace {

distributed::Reduction to_reduction(uint32_t reduction) {
  switch (reduction) {
    case TENON_REDUCE_MAX: return distributed::Reduction::maximum;
    case TENON_REDUCE_MIN: return distributed::Reduction::minimum;
    default: return distributed::Reduction::sum;
  }
}

void combine_states(components::Metric& metric, distributed::ProcessGroup& group) {
  metric.combine([&group](uint32_t reduction, double initial, const at::Tensor& state) {
    const at::ScalarType dtype = state.scalar_type();
    const bool is_integer = at::isIntegralType(dtype, /*includeBool=*/true);  // Gloo does not support all of them
    at::Tensor carried = state.to(is_integer ? at::kLong : dtype, /*non_blocking=*/false, /*copy=*/true);
    if (reduction == TENON_REDUCE_CONCATENATE) return group.concatenate(carried).to(dtype);
    // Every rank started with the initial value; the sum must contain it once.
    if (reduction == TENON_REDUCE_SUM && initial != 0 && group.rank() > 0) carried.sub_(initial);
    group.reduce(to_reduction(reduction), carried);
    return carried.to(dtype);
  });
}

bool is_on(MetricSet::Data data, const config::MetricPlan& metric) {
  switch (data) {
    case MetricSet::Data::train: return metric.on_train;
    case MetricSet::Data::validation: return metric.on_validation;
    default: return metric.on_test;
  }
}

std::string name_state(const components::Metric& metric, size_t number) {
  return fmt::format("train_metric.{}.{}", metric.name(), number);
}

std::vector<std::string> read_states(const components::Metric& metric,
                                     const std::map<std::string, std::string>& saved) {
  std::vector<std::string> states;
  for (auto found = saved.find(name_state(metric, 0)); found != saved.end();
       found = saved.find(name_state(metric, states.size())))
    states.push_back(found->second);
  return states;
}

}  // namespace

MetricSet::MetricSet(Data data, const config::RunPlan& plan, const components::Catalogue& catalogue,
                     const std::vector<components::Loss>& losses, const c10::Device& device) {
  for (const config::MetricPlan& metric : plan.metrics) {
    if (!is_on(data, metric)) continue;
    plans_.push_back(&metric);
    metrics_.emplace_back(catalogue.find(ComponentKind::metric, metric.use), metric, device);
  }
  name_values(plan, losses);
}

// The name in the history is the value's name, or the name that the run file gives to the metric.
void MetricSet::name_values(const config::RunPlan& plan, const std::vector<components::Loss>& losses) {
  std::map<std::string, std::string> places{
      {"loss", "the sum of losses"},       {"learning_rate", "the optimizer"},
      {"skipped_samples", "the data"},     {"gradient_norm", "the optimizer step"},
      {"loss_scale", "train.precision"},   {"skipped_steps", "train.non_finite"},
      {"device_memory_mib", "run.device"}, {"step_s", "the steps"},
      {"data_wait_s", "the steps"},        {"forward_backward_s", "the steps"},
      {"optimizer_s", "the steps"}};
  if (plan.losses.size() > 1)
    for (const config::LossPlan& loss : plan.losses)
      if (!places.emplace(loss.name, "the loss at " + loss.place).second)
        throw Error(ErrorKind::configuration,
                    "{}: the name {} is already used by {}; give the loss another name: name = \"...\"", loss.place,
                    loss.name, places.at(loss.name));
  for (size_t i = 0; i < losses.size(); ++i)
    for (const std::string& part : losses[i].part_names())
      places.emplace(losses[i].name() + "." + part, "a part of the loss at " + plan.losses[i].place);
  for (size_t i = 0; i < metrics_.size(); ++i) {
    const bool renamed = metrics_[i].name() != plans_[i]->use;
    names_.emplace_back();
    for (const components::Metric::MetricValue& value : metrics_[i].values()) {
      std::string name = value.name;
      if (renamed) name = metrics_[i].values().size() == 1 ? metrics_[i].name() : metrics_[i].name() + "." + value.name;
      const auto [place, inserted] = places.emplace(name, plans_[i]->place);
      if (!inserted)
        throw Error(ErrorKind::configuration, plans_[i]->place + ": the metric " + name + " is already reported by " +
                                                  place->second + "; give one of them another name");
      names_.back().push_back(std::move(name));
    }
  }
}

std::vector<Wiring> MetricSet::connect_all(const components::Model& model,
                                           const std::vector<components::SampleField>& fields) const {
  std::vector<Wiring> wirings;
  for (size_t i = 0; i < metrics_.size(); ++i)
    wirings.push_back(connect(metrics_[i].inputs(), metrics_[i].component().describe(), *plans_[i], model, fields,
                              /*has_results=*/true));
  return wirings;
}

void MetricSet::copy_connections(const std::vector<Wiring>& wirings, const config::RunPlan& built,
                                 config::RunPlan& plan) const {
  for (size_t i = 0; i < wirings.size(); ++i)
    plan.metrics[static_cast<size_t>(plans_[i] - built.metrics.data())].inputs = wirings[i].source_names();
}

void MetricSet::reset() {
  for (components::Metric& metric : metrics_) metric.reset();
}

void MetricSet::update(const components::StepContext& context, std::vector<Wiring>& wirings,
                       const BatchTensors& batch_tensors) {
  const at::NoGradGuard no_grad;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    std::vector<at::Tensor> inputs = wirings[i].gather(batch_tensors);
    for (at::Tensor& input : inputs)
      if (input.requires_grad()) input = input.detach();
    metrics_[i].update(context, inputs);
  }
}

void MetricSet::combine(distributed::ProcessGroup& group) {
  if (group.is_single()) return;
  for (components::Metric& metric : metrics_) combine_states(metric, group);
}

NamedMetrics MetricSet::compute(const std::string& prefix, const components::StepContext& context) const {
  NamedMetrics values;
  for (size_t i = 0; i < metrics_.size(); ++i) {
    const std::vector<double> computed = metrics_[i].compute(context);
    for (size_t k = 0; k < computed.size(); ++k) values.emplace_back(prefix + names_[i][k], computed[k]);
  }
  return values;
}

std::map<std::string, int32_t> MetricSet::directions(const std::string& prefix) const {
  std::map<std::string, int32_t> directions;
  for (size_t i = 0; i < metrics_.size(); ++i)
    for (size_t k = 0; k < names_[i].size(); ++k) directions[prefix + names_[i][k]] = metrics_[i].values()[k].direction;
  return directions;
}

std::map<std::string, std::string> MetricSet::save() const {
  std::map<std::string, std::string> saved;
  for (const components::Metric& metric : metrics_) {
    const std::vector<std::string> states = metric.save_states();
    for (size_t k = 0; k < states.size(); ++k) saved[name_state(metric, k)] = states[k];
  }
  return saved;
}

void MetricSet::load(const std::map<std::string, std::string>& saved) {
  for (components::Metric& metric : metrics_) metric.load_states(read_states(metric, saved));
}

void MetricSet::add(const std::map<std::string, std::string>& saved) {
  for (components::Metric& metric : metrics_) metric.add_states(read_states(metric, saved));
}

}  // namespace tenon::pipeline

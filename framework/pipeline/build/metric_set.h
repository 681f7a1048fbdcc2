// The metrics that are computed over the training data, the validation data or the test data.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/metric_values.h"
#include "framework/components/kinds/loss.h"
#include "framework/components/kinds/metric.h"
#include "framework/components/loading/catalogue.h"
#include "framework/config/plan/run_plan.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/pipeline/build/connections.h"

namespace tenon::pipeline {

using artifacts::NamedMetrics;

class MetricSet {
 public:
  enum class Data { train, validation, test };

  MetricSet() = default;
  // The metrics with this data in their key `on`. Throws Error(configuration) if two of them, or one of them and a
  // loss, have values of the same name.
  MetricSet(Data data, const config::RunPlan& plan, const components::Catalogue& catalogue,
            const std::vector<components::Loss>& losses, const c10::Device& device);

  bool empty() const { return metrics_.empty(); }

  // The connections of the metrics' inputs to a dataset with these fields.
  std::vector<Wiring> connect_all(const components::Model& model,
                                  const std::vector<components::SampleField>& fields) const;

  // Writes the sources of the metrics' inputs to a copy of the plan. `wirings`: from connect_all().
  void copy_connections(const std::vector<Wiring>& wirings, const config::RunPlan& built, config::RunPlan& plan) const;

  void reset();

  // Adds a batch. `wirings`: from connect_all(). The outputs of the model may require gradients.
  void update(const components::StepContext& context, std::vector<Wiring>& wirings, const BatchTensors& batch_tensors);

  // Replaces the states with those of all ranks combined, on each rank. Called by all ranks.
  void combine(distributed::ProcessGroup& group);

  // The values by their names, after `prefix`: "validation/" and "accuracy". Synchronises with the device.
  NamedMetrics compute(const std::string& prefix, const components::StepContext& context) const;

  // The directions of the values: 1 higher is better, -1 lower is better, 0 neither.
  std::map<std::string, int32_t> directions(const std::string& prefix) const;

  // The states of this rank, for a checkpoint within an epoch. load() ignores other entries. Throws Error(checkpoint)
  // for states of other metrics.
  std::map<std::string, std::string> save() const;
  void load(const std::map<std::string, std::string>& saved);
  // As load(), but adds the saved states of a rank to those of this one, as combine() does.
  void add(const std::map<std::string, std::string>& saved);

 private:
  void name_values(const config::RunPlan& plan, const std::vector<components::Loss>& losses);

  std::vector<const config::MetricPlan*> plans_;
  std::vector<components::Metric> metrics_;
  std::vector<std::vector<std::string>> names_;  // of each metric's values
};

}  // namespace tenon::pipeline

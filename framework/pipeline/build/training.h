// The components of a run, built and connected by build_training() and consumed by train().
#pragma once

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/components/kinds/callback.h"
#include "framework/optimization/evaluation_weights.h"
#include "framework/optimization/optimizer.h"
#include "framework/optimization/schedule.h"
#include "framework/pipeline/build/evaluation.h"
#include "framework/pipeline/state/frozen_statistics.h"
#include "framework/pipeline/state/optimizer_shards.h"
#include "framework/pipeline/state/parameter_shards.h"
#include "framework/pipeline/state/stage_times.h"
#include "framework/precision/precision.h"

namespace tenon::pipeline {

// The training data from an epoch on.
struct ScheduledData {
  int64_t at_epoch;
  std::unique_ptr<BoundDataset> dataset;
};

// A metric that a callback names and that only another callback can log.
struct AwaitedMetric {
  std::string name;
  std::string key;  // the parameter that names it, for messages
};

// The metric that selects the best checkpoints.
struct Monitor {
  std::string metric;  // of a validation, by its name in the history
  bool is_larger_better;
  int64_t keep;  // number of best checkpoints to keep
};

// What train() needs.
struct Training : Evaluation {
  std::vector<components::Callback> callbacks;
  std::unique_ptr<BoundDataset> train;  // for the current epoch, see use_data_of_epoch()
  std::vector<ScheduledData> scheduled_train;
  int64_t total_steps;
  int64_t steps_per_epoch;  // of train.accumulate batches each; the last step has the remaining ones
  std::unique_ptr<optimization::Optimizer> optimizer;
  optimization::Schedule schedule;
  std::function<std::unique_ptr<support::DeviceGraph>()> make_graph = {};  // empty: the device has no graphs
  std::optional<precision::LossScaler> scaler = {};                        // only for fp16
  std::unique_ptr<optimization::EvaluationWeights> evaluation_weights =
      {};                                                    // null: the weights themselves are evaluated and saved
  std::unique_ptr<FrozenStatistics> frozen_statistics = {};  // null: the statistics of all batch norms are updated
  std::unique_ptr<OptimizerShards> shards = {};              // null: every rank updates all parameters
  std::unique_ptr<ParameterShards> parameter_shards = {};    // null: every rank has all weights
  std::vector<AwaitedMetric> awaited_metrics = {};  // names in callbacks that are checked after the first validation
  MetricSet train_metrics = {};                     // over the batches of an epoch, in training mode
  std::vector<std::unique_ptr<BoundDataset>> test = {};  // evaluated once, after the last step
  MetricSet test_metrics = {};                           // over the test data
  std::optional<Monitor> monitor = {};                   // none: only the newest checkpoints are kept
  StageTimes times = {};                                 // measured by train()

  // Switches `train` to the data of this epoch and destroys the previous data with its threads and memory. Call it
  // between two passes.
  void use_data_of_epoch(int64_t epoch);

  // Passes the metrics of a validation or an epoch to the schedule.
  void update_schedule(const NamedMetrics& metrics);

  // The tensors of the model that this rank writes to a checkpoint. All, if each rank has all weights.
  std::vector<components::NamedTensor> stored_tensors() const {
    return parameter_shards ? parameter_shards->select_stored(model.tensors()) : model.tensors();
  }

  // Whether the statistics of batch norms are those of all ranks.
  bool synchronizes_batch_norm() const { return !group->is_single() && plan->distributed.synchronize_batch_norm; }

  // The stage for a wait for other ranks. A single process does not wait: it stays in the current stage.
  Stage waiting_stage() const { return group->is_single() ? times.current() : Stage::processes; }

  // Whether steps with non-finite values are skipped.
  bool may_skip_steps() const { return scaler || plan->train.non_finite == config::NonFinite::skip; }
};

// Creates and connects all components, in the order: model -> losses, metrics -> optimizer, callbacks -> data. As
// build_evaluation(). `group`: the processes of the run, which must outlive the result.
Training build_training(const config::RunPlan& plan, const components::Catalogue& catalogue,
                        const support::ComputeDevice& device = {},
                        distributed::ProcessGroup& group = distributed::ProcessGroup::single());

// Writes the source of each input of the model, the losses and the metrics to a copy of the plan. Those of the training
// data, if the connections differ.
void copy_connections(const Training& training, config::RunPlan& plan);

}  // namespace tenon::pipeline

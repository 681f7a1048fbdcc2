// Everything a run needs, built and connected by build_training() and consumed by train().
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/plan/run_plan.h"
#include "framework/data/feed.h"
#include "framework/distributed/process_group.h"
#include "framework/optimization/optimizer.h"
#include "framework/optimization/schedule.h"
#include "framework/optimization/weight_average.h"
#include "framework/pipeline/build/batch_transforms.h"
#include "framework/pipeline/build/connections.h"
#include "framework/pipeline/device/field_copies.h"
#include "framework/pipeline/device/readback.h"
#include "framework/pipeline/state/stage_times.h"
#include "framework/plugins/components/callback.h"
#include "framework/plugins/components/loss.h"
#include "framework/plugins/components/metric.h"
#include "framework/plugins/components/model.h"
#include "framework/plugins/loading/catalogue.h"
#include "framework/precision/loss_scaler.h"
#include "framework/support/compute_device.h"

namespace tenon::pipeline {

using NamedMetrics = std::vector<std::pair<std::string, double>>;

// A dataset of the run and the connections of its fields.
struct BoundDataset {
  BoundDataset(const plugins::Catalogue& catalogue, const config::RunPlan& plan, const config::NamedDataset& dataset,
               const data::Share& share, const c10::Device& device)
      : feed(catalogue, plan, dataset, share),
        transforms(plan.data.batch_transforms, feed.dataset().fields(), device),
        copies(device) {}

  const std::string& name() const { return feed.dataset().name(); }

  // The fields of the batch that the feed returned last, after the batch transforms. On the CPU they refer to the
  // loader's memory and are valid until its next batch. On another device they are copies made asynchronously. In
  // training, fields that nothing reads stay in the loader's memory.
  BatchTensors to_batch_tensors(const data::Batch& batch, bool training) const;

  // If samples may be skipped, adds `<name>/skipped_samples`: the number skipped so far in this pass.
  void add_skipped(NamedMetrics& metric_values, int64_t skipped) const;

  data::Feed feed;
  BatchTransforms transforms;
  FieldCopies copies;
  std::vector<bool> is_read;  // in training, by field; empty: all fields
  std::vector<Wiring> model;  // one element
  std::vector<Wiring> losses;
  std::vector<Wiring> metrics;  // empty for the training data
};

// The training data from an epoch on.
struct ScheduledData {
  int64_t at_epoch;
  std::unique_ptr<BoundDataset> batch_tensors;
};

// The metric that selects the best checkpoints.
struct Monitor {
  std::string metric;  // of a validation, by its name in the history
  bool is_larger_better;
  int64_t keep;  // number of best checkpoints to keep
};

struct Training {
  const config::RunPlan* plan;
  plugins::Model model;
  std::vector<plugins::Loss> losses;
  std::vector<plugins::Metric> metrics;
  std::vector<std::vector<std::string>> metric_names;  // the names of each metric's values, without the data's name
  std::vector<plugins::Callback> callbacks;
  std::unique_ptr<BoundDataset> train;  // for the current epoch, see use_data_of_epoch()
  std::vector<ScheduledData> scheduled_train;
  std::vector<std::unique_ptr<BoundDataset>> validation;
  int64_t total_steps;
  int64_t steps_per_epoch;  // of train.accumulate batches each; the last step has the remaining ones
  std::unique_ptr<optimization::Optimizer> optimizer;
  optimization::Schedule schedule;
  c10::Device device = c10::Device(c10::kCPU);
  std::function<std::unique_ptr<support::DeviceGraph>()> make_graph = {};  // empty: the device has no graphs
  config::Precision precision = config::Precision::fp32;                   // for computing batches: the plan's
  config::MemoryFormat memory_format = config::MemoryFormat::contiguous;   // of the weights and therefore of the inputs
  std::optional<precision::LossScaler> scaler = {};                        // only for fp16
  std::unique_ptr<optimization::WeightAverage> average = {};  // null: the weights themselves are evaluated and saved
  std::optional<Monitor> monitor = {};                        // none: only the newest checkpoints are kept
  size_t readback_lag = 0;                                    // for tests, see Readback
  distributed::ProcessGroup* group = nullptr;                 // null: single process
  StageTimes times = {};                                      // measured by train()

  // Switches `train` to the data of this epoch and destroys the previous data with its threads and memory. Call it
  // between two passes.
  void use_data_of_epoch(int64_t epoch);

  // Whether steps with non-finite values are skipped.
  bool may_skip_steps() const { return scaler || plan->train.non_finite == config::NonFinite::skip; }
};

// Creates and connects all components, in the order: model -> losses, metrics -> data -> optimizer, schedule. The plan
// and the catalogue must outlive the result, and so must `group`, the processes of the run; null: a single process.
// Sets LibTorch's seed, determinism and threads as in the plan. `device`: from cuda::open_device().
Training build_training(const config::RunPlan& plan, const plugins::Catalogue& catalogue,
                        const support::ComputeDevice& device = {}, distributed::ProcessGroup* group = nullptr);

// For the device of the training. With several ranks, waits end if a rank is lost.
Readback make_readback(const Training& training);

// An average of the model's tensors in their current memory, still empty; null if the plan has no average.
std::unique_ptr<optimization::WeightAverage> make_average(const config::RunPlan& plan, const plugins::Model& model);

// Builds what evaluate() and predict() need: the model, the losses and metrics of the plan, and the validation data.
// Training data, optimizer and callbacks are null or empty.
Training build_evaluation(const config::RunPlan& plan, const plugins::Catalogue& catalogue,
                          const support::ComputeDevice& device = {});

}  // namespace tenon::pipeline

// Everything a run needs, built and connected: what build_training() gives and train() uses up.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/run_plan.h"
#include "framework/data/feed.h"
#include "framework/distributed/process_group.h"
#include "framework/optimization/optimizer.h"
#include "framework/optimization/schedule.h"
#include "framework/optimization/weight_average.h"
#include "framework/pipeline/batch_transforms.h"
#include "framework/pipeline/connections.h"
#include "framework/pipeline/stage_times.h"
#include "framework/plugins/callback.h"
#include "framework/plugins/catalogue.h"
#include "framework/plugins/loss.h"
#include "framework/plugins/metric.h"
#include "framework/plugins/model.h"
#include "framework/precision/loss_scaler.h"
#include "framework/support/compute_device.h"

namespace tenon::pipeline {

using NamedFigures = std::vector<std::pair<std::string, double>>;

// A dataset of the run, and the wiring of everything that is fed from it.
struct DataFlow {
  DataFlow(const plugins::Catalogue& catalogue, const config::RunPlan& plan, const config::NamedDataset& dataset,
           const data::Share& share, const c10::Device& device)
      : feed(catalogue, plan, dataset, share),
        transforms(plan.data.batch_transforms, feed.dataset().fields(), device),
        device(device) {}

  const std::string& name() const { return feed.dataset().name(); }

  // The fields of a batch that the feed has just given, changed and added to by the batch transforms. On the CPU they
  // are over the loader's own memory, valid until its next batch; on another device they are copies that the host does
  // not wait for.
  Flow to_flow(const data::Batch& batch, bool training) const;

  // Where samples may be skipped, `<name>/skipped_samples`: how many of them the pass has lacked so far.
  void add_skipped(NamedFigures& figures, int64_t skipped) const;

  data::Feed feed;
  BatchTransforms transforms;
  c10::Device device;
  std::vector<Wiring> model;  // one
  std::vector<Wiring> losses;
  std::vector<Wiring> metrics;  // empty for the training data
};

// The training data from an epoch on.
struct LaterData {
  int64_t at_epoch;
  std::unique_ptr<DataFlow> flow;
};

// Whose best checkpoints are kept.
struct Monitor {
  std::string figure;  // of a validation, by its name in the history
  bool is_larger_better;
  int64_t keep;  // so many of the best
};

struct Training {
  const config::RunPlan* plan;
  plugins::Model model;
  std::vector<plugins::Loss> losses;
  std::vector<plugins::Metric> metrics;
  std::vector<std::vector<std::string>> figure_names;  // of each metric's figures, without the data's name
  std::vector<plugins::Callback> callbacks;
  std::unique_ptr<DataFlow> train;  // of the epoch in hand, see use_data_of_epoch()
  std::vector<LaterData> later_train;
  std::vector<std::unique_ptr<DataFlow>> validation;
  int64_t total_steps;
  int64_t steps_per_epoch;  // of train.accumulate batches each, the last of those that are left
  std::unique_ptr<optimization::Optimizer> optimizer;
  optimization::Schedule schedule;
  c10::Device device = c10::Device(c10::kCPU);
  config::Precision precision = config::Precision::fp32;                  // that batches are computed in: the plan's
  config::MemoryFormat memory_format = config::MemoryFormat::contiguous;  // of the weights, and so of the inputs
  std::optional<precision::LossScaler> scaler = {};                       // of fp16 alone
  std::unique_ptr<optimization::WeightAverage> average = {};  // null: the weights themselves are evaluated and saved
  std::optional<Monitor> monitor = {};                        // none: the newest checkpoints alone are kept
  size_t readback_lag = 0;                                    // for tests, see Readback
  distributed::ProcessGroup* group = nullptr;                 // null: one process alone
  StageTimes times = {};                                      // of train()

  // Turns `train` into that of this epoch. What it was before is gone with its threads and memory. Between two passes.
  void use_data_of_epoch(int64_t epoch);

  // Whether a step that is not finite is passed over.
  bool may_skip_steps() const { return scaler || plan->train.non_finite == config::NonFinite::skip; }
};

// Creates and connects all components, in the order: model -> losses, metrics -> data -> optimizer, schedule. The plan
// and the catalogue must outlive the result, and so must `group`, the processes that share the run; null: this one
// alone. Sets LibTorch's seed, determinism and threads as the plan says. `device`: as cuda::open_device() gave it.
Training build_training(const config::RunPlan& plan, const plugins::Catalogue& catalogue,
                        const support::ComputeDevice& device = {}, distributed::ProcessGroup* group = nullptr);

// Of the tensors of the model as they lie in memory, without any weights yet; null where the plan has no average.
std::unique_ptr<optimization::WeightAverage> make_average(const config::RunPlan& plan, const plugins::Model& model);

// What evaluate() and predict() need of it: the model, the losses and metrics of the plan, and the validation data. No
// training data, optimizer or callbacks, which are then null or empty.
Training build_evaluation(const config::RunPlan& plan, const plugins::Catalogue& catalogue,
                          const support::ComputeDevice& device = {});

}  // namespace tenon::pipeline

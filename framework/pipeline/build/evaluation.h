// The components that compute outputs, losses and metrics, built and connected.
#pragma once

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/weights_metadata.h"
#include "framework/components/kinds/loss.h"
#include "framework/components/kinds/model.h"
#include "framework/components/loading/catalogue.h"
#include "framework/config/plan/run_plan.h"
#include "framework/data/feed.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/pipeline/build/batch_transforms.h"
#include "framework/pipeline/build/connections.h"
#include "framework/pipeline/build/metric_set.h"
#include "framework/pipeline/device/field_copies.h"
#include "framework/pipeline/device/readback.h"
#include "framework/support/compute/compute_device.h"

namespace tenon::pipeline {

// A dataset of the run and the connections of its fields.
struct BoundDataset {
  BoundDataset(components::Dataset opened, const config::RunPlan& plan, const config::NamedDataset& dataset,
               const data::Share& share, const c10::Device& device, const data::Numbering* numbering = nullptr)
      : feed(std::move(opened), plan, dataset, share, numbering),
        transforms(plan.data.batch_transforms, feed.dataset().fields(), device),
        copies(device) {}

  const std::string& name() const { return feed.dataset().name(); }

  // The fields of the batch that the feed returned last, after the batch transforms. On the CPU they refer to the
  // loader's memory and are valid until its next batch. On another device they are copies made asynchronously. In
  // training, fields that nothing reads stay in the loader's memory.
  BatchTensors to_batch_tensors(const data::Batch& batch, bool training);

  // If samples may be skipped, adds `<name>/skipped_samples`: the number skipped so far in this pass.
  void add_skipped(NamedMetrics& metric_values, int64_t skipped) const;

  data::Feed feed;
  BatchTransforms transforms;
  FieldCopies copies;
  std::vector<bool> is_read;  // in training, by field; empty: all fields
  std::vector<Wiring> model;  // one element
  bool has_warned_of_padding = false;
  std::vector<Wiring> losses;
  std::vector<Wiring> metrics;
};

enum class TestTimeAugmentation { none, flip };

// What evaluate() and predict() need.
struct Evaluation {
  std::shared_ptr<const config::RunPlan> plan;  // with the sizes that the run file leaves out
  components::Model model;
  std::vector<components::Loss> losses = {};
  MetricSet metrics = {};  // of the validation
  std::vector<std::unique_ptr<BoundDataset>> validation = {};
  c10::Device device = c10::Device(c10::kCPU);
  config::Precision precision = config::Precision::fp32;                  // for computing batches: the plan's
  config::MemoryFormat memory_format = config::MemoryFormat::contiguous;  // of the weights and therefore of the inputs
  distributed::ProcessGroup* group = &distributed::ProcessGroup::single();  // never null
  TestTimeAugmentation test_time_augmentation = TestTimeAugmentation::none;
  size_t readback_lag = 0;  // for tests, see Readback
  std::unique_ptr<components::Dataset> first_dataset =
      {};                                  // the first dataset, if it was opened for its sizes, until it is built
  data::Numbering numbering = {};          // of classes, in every dataset: the plan's, and that of the training data
  artifacts::FittedData fitted_data = {};  // what the training data derived, for the other datasets
};

// Creates and connects the components, in the order: model -> losses, metrics -> validation data. Sizes that the run
// file leaves out are those of the weights, or else of the first validation data. The catalogue must outlive the
// result. Sets LibTorch's seed, determinism and threads as in the plan. `device`: from cuda::open_device(). `group`:
// the processes that share the data, which must outlive the result.
Evaluation build_evaluation(const config::RunPlan& plan, const components::Catalogue& catalogue,
                            const support::ComputeDevice& device = {},
                            distributed::ProcessGroup& group = distributed::ProcessGroup::single());

// For the device of the evaluation. With several ranks, waits end if a rank is lost.
Readback make_readback(const Evaluation& evaluation);

}  // namespace tenon::pipeline

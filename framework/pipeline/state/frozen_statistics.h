// The batch norms that run in evaluation mode while [[optimizer.group]] freezes their weights, see eval_batch_norm.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/model.h"
#include "framework/config/plan/optimizer_plan.h"
#include "framework/distributed/collectives/frozen_batch_norm.h"
#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

class FrozenStatistics {
 public:
  // Returns null if no group requests it. Throws Error(configuration) naming the group if the groups that request it
  // have no weights of a batch norm with running statistics. Freezes the statistics of the first epoch.
  static std::unique_ptr<FrozenStatistics> make(const config::OptimizerPlan& plan, const components::Model& model,
                                                const optimization::Optimizer& optimizer);

  // Freezes the statistics of this epoch, and no others.
  void start_epoch(int64_t epoch);

  // Call it after a step. The first call compares the statistics with those before the epoch. Throws
  // Error(configuration) naming the first that changed: the model does not compute it with LibTorch's operator
  // batch_norm.
  void check_once();

  size_t count() const { return layers_.size(); }

 private:
  struct Layer {
    std::string name;
    at::Tensor mean;
    int64_t epochs;  // frozen in the first epochs
  };

  FrozenStatistics(std::vector<Layer> layers, std::string place);

  std::vector<Layer> layers_;
  std::string place_;  // of the group, for messages
  distributed::FrozenBatchNorm frozen_;
  std::vector<at::Tensor> initial_;  // until they are compared; undefined for a layer that is trained
  bool is_checked_ = false;
};

}  // namespace tenon::pipeline

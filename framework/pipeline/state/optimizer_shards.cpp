#include "framework/pipeline/state/optimizer_shards.h"

#include <torch/types.h>

#include "framework/support/diagnostics/log.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

// Divides the parameters that are updated, so that the ranks have about the same number of bytes.
std::vector<int64_t> assign_updated(const optimization::Optimizer& optimizer, int64_t ranks) {
  std::vector<int64_t> bytes;
  for (size_t i = 0; i < optimizer.parameters().size(); ++i) {
    const bool is_frozen = optimizer.parameter_rates()[i].is_always_frozen();
    bytes.push_back(is_frozen ? 0 : static_cast<int64_t>(optimizer.parameters()[i].tensor.nbytes()));
  }
  return distributed::assign_owners(bytes, ranks);
}

}  // namespace

OptimizerShards::OptimizerShards(distributed::ProcessGroup& group, const config::DistributedSection& plan,
                                 optimization::Optimizer& optimizer, const DividedWeights* divided)
    : optimizer_(optimizer), tensors_(group, plan), divides_gradients_(plan.shard != config::Shard::optimizer) {
  owners_ = divided ? divided->owners_of(optimizer.parameters()) : assign_updated(optimizer, group.size());
  int64_t count = 0, total = 0;
  for (size_t i = 0; i < owners_.size(); ++i) {
    is_owned_.push_back(owners_[i] == group.rank());
    if (!is_owned_.back()) continue;
    ++count;
    total += static_cast<int64_t>(optimizer.parameters()[i].tensor.nbytes());
  }
  optimizer.update_only(is_owned_);
  support::log_debug("rank {} updates {} of {} parameters ({})", group.rank(), count, owners_.size(),
                     support::format_bytes(static_cast<uint64_t>(total)));
}

void OptimizerShards::gather_weights() {
  std::vector<at::Tensor> weights;
  std::vector<size_t> parameters;
  for (size_t i = 0; i < owners_.size(); ++i) {
    const at::Tensor& tensor = optimizer_.parameters()[i].tensor;
    if (!tensor.requires_grad()) continue;  // frozen in this epoch
    weights.push_back(tensor.detach());
    parameters.push_back(i);
  }
  gather(weights, parameters);
}

void OptimizerShards::gather(const std::vector<at::Tensor>& tensors, const std::vector<size_t>& parameters) {
  std::vector<int64_t> owners;
  for (const size_t parameter : parameters) owners.push_back(owners_[parameter]);
  tensors_.gather(tensors, owners);
}

}  // namespace tenon::pipeline

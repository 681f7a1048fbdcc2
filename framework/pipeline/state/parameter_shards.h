// Divides the weights over the ranks of a run, with distributed.shard = "parameters": the third stage of ZeRO
// (Rajbhandari et al., arXiv:1910.02054), or FSDP (Zhao et al., arXiv:2304.11277).
#pragma once

#include <cstddef>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/optimizer_shards.h"
#include "framework/plugins/components/model.h"
#include "framework/plugins/tensors/forward_observer.h"

namespace tenon::pipeline {

// Each rank keeps the weights that it owns. Those of a segment of the model are gathered before the segment runs in
// forward and in backward, and the memory of those of other ranks is freed after it. Weights that no segment or several
// of them use are gathered for the whole pass.
//
// The first forward in training finds the weights that each segment uses, by watching its operators. Until it ends, all
// ranks have all weights. From then on, all functions but is_divided() and end_backward_pass() are collectives: the
// ranks must run the same passes, and each pass the same segments.
class ParameterShards final : public plugins::ForwardObserver {
 public:
  // `shards` and `model` must outlive this object.
  ParameterShards(distributed::ProcessGroup& group, OptimizerShards& shards, const plugins::Model& model,
                  const std::vector<optimization::NamedTensor>& parameters);
  ~ParameterShards() override;
  ParameterShards(const ParameterShards&) = delete;
  ParameterShards& operator=(const ParameterShards&) = delete;

  // Throws Error(configuration) after the first pass if the model has no segment with weights that only it uses.
  // Throws Error(plugin) if a pass has other segments than the first one.
  void start_pass(bool trains) override;
  void end_pass(bool trains) override;
  void join_pass() override;
  // The first evaluation with divided weights gathers all of them, to find out whether it runs the same segments as
  // training. If it does not, as for graphs of torch.export, so do all others.
  void start_evaluation() override;
  void end_evaluation() override;
  // After the last backward of a training pass.
  void end_backward_pass();

  size_t start_forward(const void* kind) override;
  void end_forward(size_t segment) override;
  void start_backward(size_t segment) override;
  void end_backward(size_t segment) override;
  bool may_use(size_t segment, const at::Tensor& tensor) const override;

  // Whether a rank lacks weights between two passes.
  bool is_divided() const { return state_ == State::divided; }

  // Gathers all weights if they are divided, and frees them again. In between, passes change nothing.
  void hold_all();
  void free_all();

 private:
  class Observer;
  // Weights that are gathered together. The first unit has those that are used outside of segments, or in several.
  struct Unit {
    std::vector<size_t> parameters;
    bool is_gathered = true;
  };

  // Undivided until the first training pass has found the units. Held: all ranks have all weights for some time.
  enum class State { undivided, divided, held };
  // How evaluations gather the weights.
  enum class Evaluations { unknown, by_segment, whole };

  size_t count_segments_with_weights() const;
  void divide();
  [[noreturn]] void refuse_segments(const std::string& what) const;
  void gather(size_t unit);
  void free(size_t unit);
  void free_at_once(size_t unit);
  bool owns(size_t parameter) const;

  distributed::ProcessGroup& group_;
  OptimizerShards& shards_;
  const plugins::Model& model_;
  const std::vector<optimization::NamedTensor>& parameters_;
  std::unordered_map<const void*, size_t> index_of_;  // by TensorImpl
  std::unique_ptr<Observer> observer_;                // during the first pass
  State state_ = State::undivided;
  std::vector<Unit> units_;                                   // one more than there are segments
  std::vector<size_t> unit_of_;                               // of each parameter; kKept: all ranks keep it
  std::map<std::pair<const void*, size_t>, size_t> numbers_;  // of segments, by kind and position
  std::unordered_map<const void*, size_t> started_;           // segments of the current pass, by kind
  size_t gathered_ = 0;                                       // segments of the current pass that have weights
  Evaluations evaluations_ = Evaluations::unknown;
  bool holds_evaluation_ = false;  // all weights are gathered for the current evaluation
  bool is_other_ = false;          // a pass of the current evaluation has other segments than training
  StoragePool pool_;
};

// Gathers all weights while it lives.
class WholeWeights {
 public:
  // null: all ranks have all weights.
  explicit WholeWeights(ParameterShards* shards) : shards_(shards && shards->is_divided() ? shards : nullptr) {
    if (shards_) shards_->hold_all();
  }
  ~WholeWeights() {
    if (shards_) shards_->free_all();
  }
  WholeWeights(const WholeWeights&) = delete;
  WholeWeights& operator=(const WholeWeights&) = delete;

 private:
  ParameterShards* shards_;
};

}  // namespace tenon::pipeline

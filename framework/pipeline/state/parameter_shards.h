// Divides the weights over the ranks of a run, with distributed.shard = "parameters": the third stage of ZeRO
// (Rajbhandari et al., arXiv:1910.02054), or FSDP (Zhao et al., arXiv:2304.11277).
#pragma once

#include <array>
#include <cstddef>
#include <exception>
#include <map>
#include <memory>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/components/kinds/model.h"
#include "framework/components/tensors/frame.h"
#include "framework/pipeline/device/tensor_storage.h"
#include "framework/pipeline/state/optimizer_shards.h"

namespace tenon::pipeline {

// Each rank keeps the weights that it owns. Those of a segment of the model are gathered before the segment runs in
// forward and in backward, and the memory of those of other ranks is freed after it. Where weights are sent as
// messages, those of the next segment are under way meanwhile. Weights that no segment or several of them use are
// gathered for the whole pass.
//
// The first pass in training and the first one in evaluation find the weights that each segment uses, by watching its
// operators: a weight is gathered before the first operator that has it as an input.
//
// All functions but end_backward_pass(), needs_pass() and may_use() are collectives: the ranks must run the same
// passes, and each pass the same segments.
class ParameterShards final : public components::ForwardObserver {
 public:
  // For a model of build_divided(). `weights`: of assign_weights(). `group` and `shards` must outlive this object.
  ParameterShards(distributed::ProcessGroup& group, OptimizerShards& shards, const components::Model& model,
                  DividedWeights weights);
  ~ParameterShards() override;
  ParameterShards(const ParameterShards&) = delete;
  ParameterShards& operator=(const ParameterShards&) = delete;

  // Throws Error(configuration) after the first pass in training if the model has no segment with weights that only it
  // uses. Throws Error(plugin) if a pass has other segments than the first one.
  void start_pass(bool trains) override;
  void end_pass(bool trains) override;
  bool needs_pass() const override { return !of_evaluation().is_known; }
  void join_pass() override;
  // After the last backward of a training pass.
  void end_backward_pass();

  size_t start_forward(const void* kind) override;
  void end_forward(size_t segment) override;
  void start_backward(size_t segment) override;
  void end_backward(size_t segment) override;
  bool may_use(size_t segment, const at::Tensor& tensor) const override;

  // Selects the tensors that this rank writes to a checkpoint: the weights that it owns, and what is not divided on
  // rank 0.
  std::vector<components::NamedTensor> select_stored(const std::vector<components::NamedTensor>& tensors) const;

 private:
  class Observer;
  using Unit = std::vector<size_t>;  // parameters that are gathered together

  // What a pass uses.
  struct Layout {
    bool is_known = false;
    std::map<std::pair<const void*, size_t>, size_t> numbers;  // of segments, by kind and position
    std::vector<Unit> units;      // first that of weights outside of segments, or in several
    std::vector<size_t> unit_of;  // of each parameter
    size_t with_weights = 0;      // number of segments that have weights
  };
  const Layout& of_training() const { return layouts_[1]; }
  const Layout& of_evaluation() const { return layouts_[0]; }

  void learn(Layout& layout);
  void require_segments(const Layout& layout) const;
  [[noreturn]] void refuse_segments(const std::string& what) const;
  void use(size_t parameter);
  void rethrow_failure() const;
  // The weights of a unit that are not gathered, and their owners.
  std::pair<std::vector<at::Tensor>, std::vector<int64_t>> allocate(const Unit& unit);
  void gather(const Unit& unit);
  // Starts gathering the next unit with weights, if messages are sent while this thread computes. `direction`: 1 in
  // forward, -1 in backward.
  void gather_ahead(const Layout& layout, size_t unit, ptrdiff_t direction);
  void free(const Unit& unit);
  void free_all();

  distributed::ProcessGroup& group_;
  OptimizerShards& shards_;
  std::string model_;  // for messages
  DividedWeights weights_;
  std::unordered_map<const void*, size_t> index_of_;  // by TensorImpl
  std::vector<bool> is_freed_;                        // whether this rank frees the parameter after use
  std::vector<bool> is_gathered_;                     // whether all ranks have the parameter
  std::array<Layout, 2> layouts_;                     // of passes in evaluation and in training
  std::unique_ptr<Observer> observer_;                // during a pass with an unknown layout
  std::exception_ptr failure_;                        // of use()
  Layout* layout_ = nullptr;                          // of the current or last pass
  std::unordered_map<const void*, size_t> started_;   // segments of the current pass, by kind
  size_t gathered_ = 0;                               // segments of the current pass that have weights
  distributed::OwnedTensors::Pending pending_;        // of gather_ahead()
  StoragePool pool_;
};

}  // namespace tenon::pipeline

// Sums the gradients of all ranks during backward with c10d's Reducer, like DistributedDataParallel in Python (Li et
// al., "PyTorch Distributed", VLDB 2020). Only this module calls the constructor of Reducer, which changes between
// releases.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/run_plan.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/distributed/collectives/reducer.h"

namespace c10d {
class Logger;
class Reducer;
}  // namespace c10d

namespace tenon::distributed {

class SharedMemorySum;

// Gives every rank the sums of all gradients. Gradients are views into the buckets. A backward without
// expect_backward() only adds to the gradients of this rank.
class GradientReducer final : public Reducer {
 public:
  // `names` and `parameters`: the trainable tensors in the order of forward. `group` must outlive this object.
  // `buckets`: the result of buckets() for a resumed run; empty: they are determined in the first backward.
  GradientReducer(ProcessGroup& group, const config::DistributedSection& plan, std::vector<std::string> names,
                  std::vector<at::Tensor> parameters, Buckets buckets = {});
  ~GradientReducer() override;
  GradientReducer(const GradientReducer&) = delete;
  GradientReducer& operator=(const GradientReducer&) = delete;

  Passes reduced_passes() const override { return Passes::last; }
  void prepare_forward() override;
  void expect_backward(const at::Tensor& total) override;
  void finish_backward(const std::exception* error) override;
  // Reduces the current gradients. A rank without a batch contributes zeros.
  void reduce_without_backward() override;
  void finish_step(bool keeps_separate) override {
    if (keeps_separate) reduce_without_backward();
  }
  // With three or more ranks over sockets, the order of a sum, and so its last bit, depends on the position of the
  // elements in a bucket.
  Buckets buckets() override;

 private:
  class SumHook;
  void rebuild_buckets();
  template <class Call>
  void communicate(const Call& call);

  ProcessGroup& group_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  bool finds_unused_;
  bool records_graph_;                       // the next backward is the first one of a static graph
  std::unique_ptr<SharedMemorySum> shared_;  // null: sums use the process group
  SumHook* hook_;                            // owned by the reducer
  std::shared_ptr<c10d::Reducer> reducer_;
  std::shared_ptr<c10d::Logger> logger_;  // used by the reducer
};

}  // namespace tenon::distributed

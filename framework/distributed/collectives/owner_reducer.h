// Sums each gradient on one rank during backward, with distributed.shard = "gradients": the second stage of ZeRO
// (Rajbhandari et al., arXiv:1910.02054).
#pragma once

#include <cstddef>
#include <cstdint>
#include <exception>
#include <memory>
#include <string>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "framework/config/plan/distributed_plan.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/distributed/collectives/reducer.h"

namespace tenon::distributed {

class SharedMemorySum;

// Each parameter has an owner. After a backward the owner has the sum of the parameter's gradients, added to that of
// earlier backwards, and the other ranks have no gradient. A gradient is sent as soon as those of its bucket are ready,
// and then freed, so a rank never has all gradients. Buckets contain parameters in the reverse of their order, and are
// sent in this order on all ranks. REQUIRES: backward computes the gradient of a parameter once.
class OwnerReducer final : public Reducer {
 public:
  // A collective. `names` and `parameters`: the trainable tensors in the order of forward. `owners`: their ranks.
  // `group` must outlive this object, and no other object may set hooks that run after the accumulation of gradients.
  OwnerReducer(ProcessGroup& group, const config::DistributedSection& plan, std::vector<std::string> names,
               std::vector<at::Tensor> parameters, std::vector<int64_t> owners);
  ~OwnerReducer() override;
  OwnerReducer(const OwnerReducer&) = delete;
  OwnerReducer& operator=(const OwnerReducer&) = delete;

  Passes reduced_passes() const override { return Passes::all; }
  void expect_backward(const at::Tensor& total) override;
  void finish_backward(const std::exception* error) override;
  void reduce_without_backward() override;
  // With find_unused_parameters, releases the gradients of parameters that no rank has used in the step. Without it,
  // and unless `keeps_separate`, throws Error(configuration) with the names of the parameters that this rank has not
  // used in the step.
  void finish_step(bool keeps_separate) override;

 private:
  class Hook;
  // The tensors of a bucket on their way to the owners.
  class Transfer;

  void begin();
  void accept(size_t parameter);
  void send(const std::vector<size_t>& bucket);
  void send_remaining();
  void release_unused();
  void finish_transfers(size_t remaining);
  void add_to_earlier(size_t parameter, const at::Tensor& sum);

  ProcessGroup& group_;
  const config::Compression compression_;
  const bool finds_unused_;
  std::vector<std::string> names_;
  std::vector<at::Tensor> parameters_;
  std::vector<int64_t> owners_;
  Buckets buckets_;
  std::vector<size_t> bucket_of_;            // of each parameter
  std::unique_ptr<SharedMemorySum> shared_;  // null: sums use the process group

  // State of the current backward.
  bool is_reducing_ = false;
  std::vector<bool> is_ready_;
  std::vector<size_t> missing_;                       // gradients of each bucket that are not ready
  size_t next_ = 0;                                   // the next bucket to send
  std::vector<at::Tensor> earlier_;                   // the owned sums of earlier backwards
  std::vector<std::unique_ptr<Transfer>> transfers_;  // not completed, in the order of sending

  // State of the current step, of this rank.
  bool ran_backward_ = false;
  std::vector<bool> was_used_;
};

}  // namespace tenon::distributed

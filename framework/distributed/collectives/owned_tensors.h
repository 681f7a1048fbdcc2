// Divides tensors over the ranks, and sends them from the ranks that own them to all other ranks.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/distributed_plan.h"
#include "framework/distributed/collectives/process_group.h"

namespace tenon::distributed {

class SharedPages;

// Returns the rank of each tensor, so that the ranks have about the same number of bytes: the largest tensor first,
// each to the rank with the fewest bytes so far. Equal arguments give equal ranks. REQUIRES: ranks >= 1.
std::vector<int64_t> assign_owners(const std::vector<int64_t>& bytes, int64_t ranks);

class OwnedTensors {
 public:
  // A collective. `group` must outlive this object. Between processes of one machine without GPUs the tensors go
  // through shared memory, unless `plan` chooses a backend.
  OwnedTensors(ProcessGroup& group, const config::DistributedSection& plan);
  ~OwnedTensors();
  OwnedTensors(const OwnedTensors&) = delete;
  OwnedTensors& operator=(const OwnedTensors&) = delete;

  // A collective. Copies the bits of each tensor from its owner into the tensors of the other ranks. The shapes, dtypes
  // and strides are those of the owner. `owners`: the rank of each tensor. Throws Error(rank_lost).
  void gather(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners);

  // Messages that are under way.
  class Pending {
   public:
    void wait();  // blocks until the tensors have their values

   private:
    friend class OwnedTensors;
    std::vector<ProcessGroup::Pending> messages_;
  };

  // Whether start_gather() returns before the tensors have arrived. In shared memory this thread copies them.
  bool can_overlap() const { return !pages_; }
  // A collective. As gather(), but nothing may read the tensors before wait(). Sends all of them at once, which needs
  // memory for their bytes. REQUIRES: can_overlap().
  Pending start_gather(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners);

 private:
  void gather_shared(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners);
  void broadcast(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners);
  // Calls send() with the tensors of each message, in the same order on all ranks.
  void for_each_message(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners,
                        const std::function<void(const std::vector<at::Tensor>& message, int64_t owner)>& send) const;

  ProcessGroup& group_;
  size_t message_bytes_;
  std::unique_ptr<SharedPages> pages_;  // null: tensors are sent by the process group
  uint32_t next_ = 0;                   // number of the next slot
};

}  // namespace tenon::distributed

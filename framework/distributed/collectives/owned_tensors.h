// Sends tensors from the ranks that own them to all other ranks.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/config/plan/distributed_plan.h"
#include "framework/distributed/collectives/process_group.h"

namespace tenon::distributed {

class SharedPages;

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

 private:
  void gather_shared(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners);
  void broadcast(const std::vector<at::Tensor>& tensors, const std::vector<int64_t>& owners);

  ProcessGroup& group_;
  size_t message_bytes_;
  std::unique_ptr<SharedPages> pages_;  // null: tensors are sent by the process group
  uint32_t next_ = 0;                   // number of the next slot
};

}  // namespace tenon::distributed

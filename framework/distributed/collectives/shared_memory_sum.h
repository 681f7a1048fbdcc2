// Sums tensors over the ranks of one machine through shared memory. Compared with sockets it avoids copies by the
// kernel. It sums in the order of the ranks, so that the result is reproducible.
#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdint>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

#include "framework/config/plan/distributed_plan.h"
#include "framework/distributed/collectives/process_group.h"
#include "framework/distributed/collectives/shared_pages.h"

namespace tenon::distributed {

// A collective. Returns null on all ranks if one of them cannot open the memory of rank 0, for example from another
// container. Opening it requires access to the open files of rank 0.
std::unique_ptr<SharedPages> open_shared_pages(ProcessGroup& group, std::chrono::milliseconds timeout);
// A collective. Also returns null if the ranks are on several machines, or `plan` chooses a backend.
std::unique_ptr<SharedPages> open_shared_pages(ProcessGroup& group, const config::DistributedSection& plan);

class SharedMemorySum {
 public:
  // A collective. Returns null as open_shared_pages() does.
  static std::unique_ptr<SharedMemorySum> make(ProcessGroup& group, std::chrono::milliseconds timeout);
  // A collective. As make() if all tensors can be summed here and the ranks are on one machine, unless `plan` chooses a
  // backend. Otherwise returns null.
  static std::unique_ptr<SharedMemorySum> make_for(const std::vector<at::Tensor>& tensors, ProcessGroup& group,
                                                   const config::DistributedSection& plan);
  // Cancels pending sums.
  ~SharedMemorySum();

  // Returns whether the tensor is a dense CPU tensor with a floating-point dtype.
  static bool can_add(const at::Tensor& tensor);

  // Starts the sums of the tensors that the ranks pass in their n-th call. They must be dense and have the same sizes,
  // strides and dtypes. Half and bfloat16 are summed in float32 and rounded once. `owners`: the rank that gets the sum
  // of each tensor, while the tensors of the others are unchanged; empty: all ranks get all sums. The value of the
  // future is the list of tensors. An error of the future names the rank that has ended or timed out.
  c10::intrusive_ptr<c10::ivalue::Future> start(std::vector<at::Tensor> tensors, std::vector<int64_t> owners = {});

 private:
  struct Task {
    std::vector<at::Tensor> tensors;
    std::vector<int64_t> owners;
    c10::intrusive_ptr<c10::ivalue::Future> done;
  };

  explicit SharedMemorySum(std::unique_ptr<SharedPages> pages);
  void work();

  std::unique_ptr<SharedPages> pages_;
  std::mutex mutex_;
  std::condition_variable has_task_;
  std::deque<Task> tasks_;
  bool is_ending_ = false;
  std::thread worker_;
};

}  // namespace tenon::distributed

// Sums a tensor over the ranks of one machine through shared memory. Compared with sockets it avoids copies by the
// kernel. It sums in the order of the ranks, so that the result is reproducible.
#pragma once

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <thread>

#include <ATen/core/Tensor.h>
#include <ATen/core/ivalue.h>

namespace tenon::distributed {

class ProcessGroup;
class SharedPages;

class SharedMemorySum {
 public:
  // A collective. Returns null on all ranks if one of them cannot open the memory of rank 0, for example from another
  // container. Opening it requires access to the open files of rank 0.
  static std::unique_ptr<SharedMemorySum> make(ProcessGroup& group, std::chrono::milliseconds timeout);
  // Cancels pending sums.
  ~SharedMemorySum();

  // Returns whether the tensor is a dense CPU tensor with a floating-point dtype.
  static bool can_add(const at::Tensor& tensor);

  // Starts the sum of the tensors that the ranks pass in their n-th call. They must be contiguous and have the same
  // size and dtype. Half and bfloat16 are summed in float32 and rounded once. The value of the future is a list with
  // this tensor, which then holds the sum. An error of the future names the rank that has ended or timed out.
  c10::intrusive_ptr<c10::ivalue::Future> start(const at::Tensor& tensor);

 private:
  struct Task {
    at::Tensor tensor;
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

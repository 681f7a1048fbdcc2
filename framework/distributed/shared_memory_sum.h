// The sum of a tensor over the ranks of one machine, through memory that they share. Beside sockets it saves the
// system's copies; and since it adds up in the order of the ranks, its bits depend on nothing else.
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
  // A collective. Null on every rank where one of them cannot share memory with rank 0, which it may do if it may look
  // into the other's open files: not from another container, for one.
  static std::unique_ptr<SharedMemorySum> make(ProcessGroup& group, std::chrono::milliseconds timeout);
  // What is under way is given up.
  ~SharedMemorySum();

  // Of dense tensors in the host's memory, of a floating-point dtype.
  static bool can_add(const at::Tensor& tensor);

  // Begins to add up the tensors that the ranks give in their calls of the same number: contiguous, of one size and
  // dtype. Half and bfloat16 are added in float32 and rounded once. The future is of a list with this tensor, which
  // holds the sum then; its error says which rank is gone, or that one has not come within the timeout.
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

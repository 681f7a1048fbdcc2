// Copies values from the device to the host without blocking.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

#include "framework/pipeline/device/host_copies.h"

namespace tenon::pipeline {

// The training thread posts small tensors and continues. The readers receive the values once they have arrived, in the
// order of the posts, so results do not depend on the time of arrival. On a CPU the values are available immediately.
class Readback {
 public:
  using Reader = std::function<void(const std::vector<double>&)>;
  using WaitUntil = std::function<void(const std::function<bool()>& is_done)>;

  // `lag`: for tests, simulates a slow device: values count as arrived after this number of later posts.
  // `wait_until`: waits until the function returns true; ProcessGroup::wait_until, which reports lost ranks. Without it
  // drain() blocks.
  explicit Readback(c10::Device device = c10::Device(c10::kCPU), size_t lag = 0, WaitUntil wait_until = {})
      : device_(device), lag_(lag), wait_until_(std::move(wait_until)), pinned_(device) {}

  // Waits for the device if there are values that have not arrived.
  ~Readback();
  Readback(const Readback&) = delete;
  Readback& operator=(const Readback&) = delete;

  // Whether deliver_arrived() after post() always calls the reader.
  bool is_immediate() const { return device_.is_cpu() && lag_ == 0; }

  // `tensors`: on the device. The reader receives the values of their elements in the same order.
  void post(const std::vector<at::Tensor>& tensors, Reader reader);

  // Calls the readers of values that have arrived; never blocks. Exceptions of a reader propagate, and it is not called
  // again.
  void deliver_arrived();

  // Calls all remaining readers; synchronises with the device if necessary.
  void drain();

  int64_t waits() const { return waits_; }  // number of waits for the device so far

 private:
  struct Pending {
    std::vector<double> values;  // of CPU tensors
    at::Tensor pinned;           // otherwise: the memory of `count` float64
    int64_t count = 0;
    std::unique_ptr<c10::Event> arrival;
    Reader reader;
  };
  bool has_come(size_t index) const;
  void wait_for(c10::Event& arrival);
  void read_front();

  c10::Device device_;
  size_t lag_;
  WaitUntil wait_until_;
  std::deque<Pending> pending_;
  int64_t waits_ = 0;
  PinnedMemory pinned_;
};

// The value of a tensor with one element. Synchronises if the tensor is on another device.
double read_scalar(const at::Tensor& tensor);

// Returns the first of the values and removes it. REQUIRES: the span is not empty.
inline double take_value(std::span<const double>& values) {
  const double value = values.front();
  values = values.subspan(1);
  return value;
}

}  // namespace tenon::pipeline

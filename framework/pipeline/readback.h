// Figures on their way from the device to the host.
#pragma once

#include <cstdint>
#include <deque>
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include <ATen/core/Tensor.h>
#include <c10/core/Event.h>

namespace tenon::pipeline {

// The training thread hands over small tensors and goes on; their numbers are read when they have come, in
// the order in which they were posted, so that what is made of them does not depend on when that is. On a CPU they are
// there at once.
class Readback {
 public:
  using Reader = std::function<void(const std::vector<double>&)>;

  // `lag`: for tests, how many later posts it takes until numbers count as come, as they would from a slow device.
  explicit Readback(c10::Device device = c10::Device(c10::kCPU), size_t lag = 0) : device_(device), lag_(lag) {}

  // Whether settle() after post() calls the reader for certain.
  bool is_immediate() const { return device_.is_cpu() && lag_ == 0; }

  // `tensors`: on the device. The reader gets the values of their elements in the same order.
  void post(const std::vector<at::Tensor>& tensors, Reader reader);

  // Calls the readers of what has come; waits for nothing. What a reader throws passes through, and it is not called
  // again.
  void settle();

  // Calls all readers that are left, and waits for the device where it must.
  void drain();

  int64_t waits() const { return waits_; }  // so far

 private:
  struct Pending {
    std::vector<double> values;  // on a CPU
    at::Tensor copy;             // [n] float64 in pinned memory, else
    std::unique_ptr<c10::Event> arrival;
    Reader reader;
  };
  bool has_come(size_t index) const;
  void read_front();

  c10::Device device_;
  size_t lag_;
  std::deque<Pending> pending_;
  int64_t waits_ = 0;
};

// The value of a tensor of one element in the host's memory, or brought there, which waits.
double read_scalar(const at::Tensor& tensor);

// The first of the values that a reader got; takes it off. REQUIRES: there is one.
inline double take_value(std::span<const double>& values) {
  const double value = values.front();
  values = values.subspan(1);
  return value;
}

}  // namespace tenon::pipeline

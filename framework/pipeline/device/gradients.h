// The gradients of one optimizer step, between the last backward and the optimizer. All work is done on the device.
// With gradients that are divided over ranks, the functions with "A collective" must be called by all of them.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/distributed/collectives/process_group.h"
#include "framework/optimization/optimizer.h"
#include "framework/pipeline/device/non_finite_flag.h"

namespace tenon::pipeline {

class Gradients {
 public:
  // `divided_over`: the ranks, if each has a part of the gradients; null: this process has all of them.
  explicit Gradients(const std::vector<optimization::NamedTensor>& parameters,
                     distributed::ProcessGroup* divided_over = nullptr);

  // float32, on the parameters' device.
  at::TensorOptions float_options() const;

  // Takes the current gradients of the parameters. Undefined gradients are skipped.
  void gather();
  // Releases them, so that the next step can reuse their memory.
  void release() { gradients_.clear(); }

  // A collective. Multiplies all gradients by `factor`, [] float32; undefined: 1. Sets the flag if an element is NaN or
  // infinite. Returns the result of norm() after that if it is requested, otherwise an undefined tensor.
  at::Tensor scale_and_check(const at::Tensor& factor, NonFiniteFlag& flag, bool with_norm = false);

  // A collective. The 2-norm of all gradients together, [] of the gradients' dtype.
  at::Tensor norm() const;

  // Same as torch.nn.utils.clip_grad_value_ and clip_grad_norm_. `norm`: the result of norm().
  void clip_value(double limit);
  void clip_norm(const at::Tensor& norm, double limit);

  // The largest magnitude of each gradient that this rank has. It does not overflow, unlike a norm of squares.
  struct Magnitudes {
    at::Tensor values;            // [n], a floating-point dtype of at least 32 bits
    std::vector<size_t> indices;  // indices of the parameters
  };
  Magnitudes magnitudes() const;
  // The name of the first parameter with a NaN or infinite magnitude; "" if there is none. Synchronises with the
  // device.
  std::string name_first_bad(const Magnitudes& magnitudes) const;

  // Swaps the gradients of all parameters with `kept`, which has one element per parameter.
  void exchange(std::vector<at::Tensor>& kept) const;
  // Adds to the gradients of all parameters. A parameter without a gradient takes over the tensor.
  void add(const std::vector<at::Tensor>& gradients) const;

 private:
  at::Tensor scale_and_check_local(const at::Tensor& factor, NonFiniteFlag& flag, bool with_norm);
  void scale(const at::Tensor& factor);
  at::Tensor norm_over_ranks() const;
  at::Tensor compute_magnitudes() const;

  const std::vector<optimization::NamedTensor>& parameters_;
  distributed::ProcessGroup* divided_over_;  // null: this process has all gradients
  std::vector<at::Tensor> gradients_;
  std::vector<size_t> indices_;  // indices of their parameters
  at::Tensor magnitudes_;        // computed by scale_and_check(); undefined on the CPU
};

}  // namespace tenon::pipeline

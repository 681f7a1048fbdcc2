// The gradients of one optimizer step, from the last backward to the optimizer: all of it on the device.
#pragma once

#include <string>
#include <vector>

#include <ATen/core/Tensor.h>

#include "framework/optimization/optimizer.h"

namespace tenon::pipeline {

class Gradients {
 public:
  explicit Gradients(const std::vector<optimization::NamedTensor>& parameters);

  // float32, on the parameters' device.
  at::TensorOptions float_options() const;

  // What the parameters hold now. The others' gradients are undefined and stay so.
  void gather();
  // Lets go of them, so that their memory is the next step's.
  void release() { gradients_.clear(); }

  // Multiplies all by `factor`, [] float32. The result, [] float32, is 1 if an element is NaN or infinite, else 0 or
  // what `found` was, which it is.
  void scale_and_check(const at::Tensor& factor, at::Tensor& found);

  // The 2-norm of all together, [] of the gradients' dtype.
  at::Tensor norm() const;

  // As torch.nn.utils.clip_grad_value_ and clip_grad_norm_; `norm`: that of norm().
  void clip_value(double limit);
  void clip_norm(const at::Tensor& norm, double limit);

  // The largest magnitude of each gradient, which does not overflow as a norm of squares would.
  struct Magnitudes {
    at::Tensor values;            // [n] float64
    std::vector<size_t> indices;  // of the parameters
  };
  Magnitudes magnitudes() const;
  // The name of the first parameter whose magnitude is NaN or infinite; "" if there is none. Waits for the device.
  std::string name_first_bad(const Magnitudes& magnitudes) const;

  // Puts the gradients of all parameters into `kept`, and those of `kept` in their place. One for each parameter.
  void exchange(std::vector<at::Tensor>& kept) const;
  // Adds to the gradients of all parameters; takes over those that a parameter has none of yet.
  void add(const std::vector<at::Tensor>& gradients) const;

 private:
  const std::vector<optimization::NamedTensor>& parameters_;
  std::vector<at::Tensor> gradients_;
  std::vector<size_t> indices_;  // of the parameters they belong to
};

}  // namespace tenon::pipeline

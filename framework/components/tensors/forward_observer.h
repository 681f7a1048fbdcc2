// What the host does around the segments of a model (tenon/checkpointing.h), to hold the weights of a segment only
// while it runs.
#pragma once

#include <cstddef>

#include <ATen/core/Tensor.h>

namespace tenon::components {

// Segments are numbered from 0. A segment within a segment is a part of it.
class ForwardObserver {
 public:
  virtual ~ForwardObserver() = default;

  // [train] Before and after a forward of the model. `trains`: a backward may follow.
  virtual void start_pass(bool trains) = 0;
  virtual void end_pass(bool trains) = 0;

  // [train] In place of a forward in evaluation, on a rank that has no batch for it. Not if needs_pass(): then this
  // rank must run the model on any batch.
  virtual void join_pass() = 0;
  virtual bool needs_pass() const = 0;

  // [train] Before a segment computes its outputs, and after it. `kind`: the table of its functions. Returns its
  // number, which is that of the segment with the same position among those of its kind in other passes.
  virtual size_t start_forward(const void* kind) = 0;
  virtual void end_forward(size_t segment) = 0;

  // [train] [autograd] Before backward runs a segment, and after it. end_backward() is not called for a segment without
  // inputs that require a gradient.
  virtual void start_backward(size_t segment) = 0;
  virtual void end_backward(size_t segment) = 0;

  // Whether the segment may use this tensor of the model.
  virtual bool may_use(size_t segment, const at::Tensor& tensor) const = 0;
};

}  // namespace tenon::components

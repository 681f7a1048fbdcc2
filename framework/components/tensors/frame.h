// The context of one call on the training thread: the host's side of tenon_frame.
#pragma once

#include <cstddef>
#include <span>
#include <thread>
#include <vector>

#include <ATen/core/Tensor.h>

#include <tenon/host.h>

#include "framework/components/calls/guard.h"

namespace tenon::components {

// What the host does around the segments of a model (tenon/checkpointing.h), to hold the weights of a segment only
// while it runs. Segments are numbered from 0. A segment within a segment is a part of it.
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

// The position of a run, as a frame reports it.
struct StepContext {
  bool training = false;
  int64_t step = 0;
  int64_t epoch = 0;
  uint32_t rank = 0;
  uint32_t world_size = 1;
  uint64_t seed = 0;  // seed of the run
  bool checkpoints_activations = false;
  uint32_t part = 0;                            // index of the batch within the step, with gradient accumulation
  ForwardObserver* forward_observer = nullptr;  // of a model's forward; null: none

  At at() const { return training ? At{"step", step + 1} : At{"evaluation after step", step}; }
};

// The rows that a metric's update appends to a concatenated state.
struct AppendedRows {
  at::Tensor like;  // an empty tensor with the shape and dtype of rows
  std::vector<at::Tensor> parts;
};

class Frame {
 public:
  // `handles`: the target of tenon_frame.tensors. `rows`: where append() stores the rows of each state of a metric,
  // null for a state without rows. Both must outlive the frame.
  Frame(const StepContext& context, const std::vector<tenon_tensor*>& handles,
        std::span<AppendedRows* const> rows = {});
  Frame(const Frame&) = delete;
  Frame& operator=(const Frame&) = delete;

  const tenon_frame* get() const { return &base_; }
  const StepContext& context() const { return context_; }

  // Returns the Frame that owns this tenon_frame.
  static Frame& of(const tenon_frame* base) { return *reinterpret_cast<Frame*>(const_cast<tenon_frame*>(base)); }

  // For a model: the tensors that its forward may change, such as running means. They must outlive the frame.
  void set_buffers(std::span<const at::Tensor> buffers) { buffers_ = buffers; }
  std::span<const at::Tensor> buffers() const { return buffers_; }

  // Hides the observer from the segments that a segment contains.
  void set_observer(ForwardObserver* observer) { context_.forward_observer = observer; }

  AppendedRows* rows(uint64_t state) const { return state < rows_.size() ? rows_[state] : nullptr; }

  bool is_on_this_thread() const { return thread_ == std::this_thread::get_id(); }
  // Keeps the tensor until the frame ends and returns its handle.
  tenon_tensor* keep(at::Tensor tensor);

 private:
  tenon_frame base_;  // must be first: of() casts its address to Frame
  StepContext context_;
  std::thread::id thread_;
  std::vector<at::Tensor> kept_;
  std::span<AppendedRows* const> rows_;
  std::span<const at::Tensor> buffers_;
};

// tenon_host.make_tensor and tenon_host.append.
tenon_status make_tensor(const tenon_frame* frame, int32_t dtype, const int64_t* shape, uint32_t ndim,
                         const void* elements, tenon_tensor** out);
tenon_status append_rows(const tenon_frame* frame, uint64_t state, tenon_tensor* rows);

}  // namespace tenon::components

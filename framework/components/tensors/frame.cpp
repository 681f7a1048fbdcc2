#include "framework/components/tensors/frame.h"

#include <torch/types.h>

#include <cstring>

#include "framework/components/calls/ports.h"
#include "framework/components/tensors/host_extensions.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/compute/philox.h"

namespace tenon::components {

Frame::Frame(const StepContext& context, const std::vector<tenon_tensor*>& handles, std::span<AppendedRows* const> rows)
    : base_{}, context_(context), thread_(std::this_thread::get_id()), rows_(rows) {
  static_assert(offsetof(Frame, base_) == 0);
  base_.size = sizeof base_;
  base_.tensors = handles.data();
  base_.tensor_count = handles.size();
  base_.training = context.training;
  base_.rank = context.rank;
  base_.world_size = context.world_size;
  base_.step = context.step;
  base_.epoch = context.epoch;
  base_.seed = support::derive_seed(context.seed, support::StreamPurpose::frame,
                                    context.rank | static_cast<uint64_t>(context.part) << 32,
                                    static_cast<uint64_t>(context.step) * 2 + (context.training ? 1 : 0));
}

tenon_tensor* Frame::keep(at::Tensor tensor) {
  tenon_tensor* handle = to_handle(tensor);
  if (kept_.capacity() == 0) kept_.reserve(16);  // about the number of tensors in a small model's forward
  kept_.push_back(std::move(tensor));
  return handle;
}

tenon_status make_tensor(const tenon_frame* frame, int32_t dtype, const int64_t* shape, uint32_t ndim,
                         const void* elements, tenon_tensor** out) {
  if (const auto fault = find_shape_fault(ndim, shape))
    return fail(TENON_INVALID_ARGUMENT, "make_tensor: the tensor " + *fault);
  return catch_errors("make_tensor", TENON_INVALID_ARGUMENT, [&]() -> tenon_status {
    const at::IntArrayRef extents(shape, ndim);
    at::Tensor tensor = at::empty(extents, to_scalar_type(dtype));
    if (tensor.numel() > 0) {
      if (!elements) return fail(TENON_INVALID_ARGUMENT, "make_tensor: the elements are null");
      std::memcpy(tensor.mutable_data_ptr(), elements, tensor.nbytes());
    }
    *out = Frame::of(frame).keep(std::move(tensor));
    return TENON_OK;
  });
}

tenon_status append_rows(const tenon_frame* base, uint64_t state, tenon_tensor* handle) {
  if (!base || !handle) return fail(TENON_INVALID_ARGUMENT, "append: a null frame or tensor");
  AppendedRows* rows = Frame::of(base).rows(state);
  if (!rows)
    return fail(TENON_INVALID_ARGUMENT,
                "append: state {} does not take rows here; expected a state with the reduction "
                "TENON_REDUCE_CONCATENATE, in update",
                state);
  const at::Tensor given = to_tensor(handle);
  const at::Tensor& like = rows->like;
  if (given.dim() != like.dim() || given.sizes().slice(1) != like.sizes().slice(1) || given.dtype() != like.dtype())
    return fail(TENON_INVALID_ARGUMENT, "append: the rows are {}; expected {} with any number in place of the 0",
                describe(given), describe(like));
  // A copy, because the next batch reuses the memory of this one.
  rows->parts.push_back(given.detach().clone());
  return TENON_OK;
}

}  // namespace tenon::components

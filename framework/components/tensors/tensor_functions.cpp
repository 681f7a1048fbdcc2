#include "framework/components/tensors/tensor_functions.h"

#include <torch/types.h>

#include <tenon/native_torch.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/write_permission.h"
#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/host_extensions.h"
#include "framework/components/tensors/tensor_handles.h"

#ifndef TENON_TORCH_BUILD
#error "TENON_TORCH_BUILD is defined by the build"
#endif

namespace tenon::components {

namespace {

std::string& running_build() {
  static std::string build = TENON_TORCH_BUILD;
  return build;
}

constexpr std::pair<int32_t, at::ScalarType> kScalarTypes[] = {{TENON_UINT8, at::kByte},
                                                               {TENON_INT8, at::kChar},
                                                               {TENON_INT16, at::kShort},
                                                               {TENON_INT32, at::kInt},
                                                               {TENON_INT64, at::kLong},
                                                               {TENON_FLOAT16, at::kHalf},
                                                               {TENON_BFLOAT16, at::kBFloat16},
                                                               {TENON_FLOAT32, at::kFloat},
                                                               {TENON_FLOAT64, at::kDouble},
                                                               {TENON_BOOL, at::kBool},
                                                               {TENON_COMPLEX64, at::kComplexFloat},
                                                               {TENON_COMPLEX128, at::kComplexDouble}};

void retain(tenon_tensor* tensor) {
  if (tensor) c10::raw::intrusive_ptr::incref(reinterpret_cast<c10::TensorImpl*>(tensor));
}

void release(tenon_tensor* tensor) {
  if (tensor) c10::raw::intrusive_ptr::decref(reinterpret_cast<c10::TensorImpl*>(tensor));
}

tenon_status tensor_info(const tenon_tensor* handle, tenon_tensor_info* out) {
  if (!handle || !out || out->size < TENON_SIZE_TO(tenon_tensor_info, numel))
    return fail(TENON_INVALID_ARGUMENT, "tensor_info: a null tensor or result, or a result without its size set");
  const auto* tensor = reinterpret_cast<const c10::TensorImpl*>(handle);
  out->dtype = to_dtype(c10::typeMetaToScalarType(tensor->dtype()));
  out->device_type = to_device_type(tensor->device().type());
  out->device_index = tensor->device().has_index() ? tensor->device().index() : 0;
  out->ndim = static_cast<uint32_t>(tensor->dim());
  out->shape = tensor->sizes().data();
  out->strides = tensor->strides().data();
  out->numel = tensor->numel();
  return TENON_OK;
}

tenon_status tensor_data(tenon_tensor* handle, void** out) {
  const at::Tensor tensor = to_tensor(handle);
  if (!tensor.defined() || !out) return fail(TENON_INVALID_ARGUMENT, "tensor_data: a null tensor or result");
  if (!tensor.device().is_cpu() || !tensor.is_contiguous())
    return fail(TENON_UNSUPPORTED, "tensor_data: the tensor is " + describe(tensor) + " on " + tensor.device().str() +
                                       "; expected a contiguous one on the CPU");
  if (tensor.numel() > 0 && tensor.storage().nbytes() == 0)
    return fail(TENON_UNSUPPORTED,
                "tensor_data: these weights are on another rank, because distributed.shard is \"parameters\"; expected "
                "them to be used within their segment only, and through operators");
  *out = tensor.data_ptr();
  return TENON_OK;
}

tenon_tensor* wrap(const void* at_tensor) {
  tenon_tensor* handle = to_handle(*static_cast<const at::Tensor*>(at_tensor));
  retain(handle);
  return handle;
}

void unwrap(const tenon_tensor* handle, void* at_tensor) { *static_cast<at::Tensor*>(at_tensor) = to_tensor(handle); }

void add_to_frame(const tenon_frame* frame, tenon_tensor* handle) {
  Frame::of(frame).keep(to_tensor(handle));
  release(handle);
}

constexpr tenon_native_torch kNativeTorch{sizeof(tenon_native_torch), wrap, unwrap, add_to_frame};

const void* get_extension(std::string_view id) {
  if (id == TENON_NATIVE_TORCH) return &kNativeTorch;
  if (id == TENON_GRADIENT) return &gradient_extension();
  if (id == TENON_CHECKPOINTING) return &checkpointing_extension();
  if (id == TENON_DLPACK) return &dlpack_extension();
  if (id == TENON_DEVICE_STREAM) return &device_stream_extension();
  if (id == TENON_RUN_TENSORS) return &run_tensors_extension();
  if (id == TENON_TRUSTED_FILES) return &trusted_files_extension();
  return nullptr;
}

// A fast check without an error message, because most tensors fit. False if the slow check is necessary.
bool fits(const at::Tensor& tensor, const Port& port, Extents& extents) {
  const uint64_t dtype = TENON_DTYPE_BIT(to_dtype(tensor.scalar_type()));
  if (port.dtypes != TENON_ANY_DTYPE && (port.dtypes & dtype) == 0) return false;
  if (port.shape.any) return true;
  const auto ndim = static_cast<size_t>(tensor.dim());
  const std::vector<ShapePattern::Extent>& expected = port.shape.extents;
  if (ndim < expected.size() || (ndim > expected.size() && !port.shape.open_ended) || !port.shape.rest.empty())
    return false;
  for (size_t i = 0; i < expected.size(); ++i) {
    const int64_t found = tensor.size(static_cast<int64_t>(i));
    const int64_t size = expected[i].size ? *expected[i].size : extents.emplace(expected[i].name, found).first->second;
    if (size != found) return false;
  }
  return true;
}

}  // namespace

int32_t to_dtype(at::ScalarType type) {
  for (const auto& [dtype, scalar_type] : kScalarTypes)
    if (scalar_type == type) return dtype;
  return TENON_DTYPE_NONE;
}

at::ScalarType to_scalar_type(int32_t dtype) {
  for (const auto& [known, scalar_type] : kScalarTypes)
    if (known == dtype) return scalar_type;
  throw std::invalid_argument("the dtype " + std::to_string(dtype) + " does not exist");
}

int32_t to_device_type(c10::DeviceType type) {
  if (type == c10::kCPU) return TENON_DEVICE_CPU;
  return type == c10::kCUDA ? TENON_DEVICE_CUDA : TENON_DEVICE_OTHER;
}

std::optional<std::string> find_mismatch(const at::Tensor& tensor, const Port& port, Extents& extents) {
  if (fits(tensor, port, extents)) return std::nullopt;
  return find_mismatch(exact_shape(tensor.sizes().vec()), TENON_DTYPE_BIT(to_dtype(tensor.scalar_type())), port,
                       extents);
}

std::string describe(const at::Tensor& tensor) {
  if (!tensor.defined()) return "undefined";
  return std::string(dtype_name(to_dtype(tensor.scalar_type()))) + " " + to_string(exact_shape(tensor.sizes().vec()));
}

TensorFunctions libtorch_functions() {
  return {retain,        release,     tensor_info, tensor_data,  find_operator,
          call_operator, make_tensor, append_rows, get_extension};
}

void install_libtorch() { install_tensor_functions(libtorch_functions()); }

std::string torch_build() { return running_build(); }

void set_libtorch_version(const std::string& version) {
  const std::string compiled = TENON_TORCH_BUILD;
  running_build() = version + compiled.substr(compiled.find(','));
}

}  // namespace tenon::components

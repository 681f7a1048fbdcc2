#include "framework/validation/session/recording_host.h"

#include <map>
#include <mutex>
#include <string_view>
#include <thread>

#include <tenon/host.h>
#include <tenon/native_torch.h>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/host_extensions.h"
#include "framework/components/tensors/tensor_functions.h"

namespace tenon::validation {

namespace {

struct HostRecorder {
  const components::TensorFunctions libtorch = components::libtorch_functions();  // what the recorded functions call
  const tenon_native_torch native = *static_cast<const tenon_native_torch*>(libtorch.get_extension(TENON_NATIVE_TORCH));
  std::thread::id training_thread;
  std::mutex mutex;
  std::map<const tenon_op*, std::string> names;
  std::map<const void*, int64_t> owned;  // retained and not yet released, by handle
  HostUse use{};
};

HostRecorder& recorder() {
  static HostRecorder one;
  return one;
}

std::string where() {
  const components::Breadcrumb& place = components::breadcrumb();
  return place.component ? std::string(" in ") + place.function : " outside of any function that the host called";
}

void note_thread(const char* function) {
  HostRecorder& all = recorder();
  if (std::this_thread::get_id() == all.training_thread) return;
  const std::lock_guard lock(all.mutex);
  all.use.on_wrong_thread.push_back(function);
}

void note_owner(const void* tensor, int64_t change) {
  if (!tensor) return;
  const std::lock_guard lock(recorder().mutex);
  recorder().owned[tensor] += change;
}

void retain(tenon_tensor* tensor) {
  note_owner(tensor, 1);
  recorder().libtorch.retain(tensor);
}

void release(tenon_tensor* tensor) {
  if (tensor) {
    HostRecorder& all = recorder();
    const std::lock_guard lock(all.mutex);
    const auto found = all.owned.find(tensor);
    if (found == all.owned.end() || found->second == 0) {
      all.use.over_released.push_back("release" + where());
      return;
    }
    --found->second;
  }
  recorder().libtorch.release(tensor);
}

tenon_status find_operator(tenon_string name, tenon_string overload, const tenon_op** out) {
  note_thread("op");
  const tenon_status status = recorder().libtorch.op(name, overload, out);
  if (status == TENON_OK) {
    const std::lock_guard lock(recorder().mutex);
    recorder().names[*out] =
        components::to_string(name) + (overload.size > 0 ? "." + components::to_string(overload) : std::string());
  }
  return status;
}

tenon_status call(const tenon_frame* frame, const tenon_op* op, const tenon_value* args, uint64_t arg_count,
                  const tenon_named_value* kwargs, uint64_t kwarg_count, tenon_value* results, uint64_t result_count) {
  note_thread("call");
  {
    const std::lock_guard lock(recorder().mutex);
    if (const auto found = recorder().names.find(op); found != recorder().names.end())
      recorder().use.operators.insert(found->second);
  }
  return recorder().libtorch.call(frame, op, args, arg_count, kwargs, kwarg_count, results, result_count);
}

tenon_status make_tensor(const tenon_frame* frame, int32_t dtype, const int64_t* shape, uint32_t ndim,
                         const void* elements, tenon_tensor** out) {
  note_thread("make_tensor");
  return recorder().libtorch.make_tensor(frame, dtype, shape, ndim, elements, out);
}

tenon_status append(const tenon_frame* frame, uint64_t state, tenon_tensor* rows) {
  note_thread("append");
  return recorder().libtorch.append(frame, state, rows);
}

tenon_tensor* wrap(const void* at_tensor) {
  tenon_tensor* const handle = recorder().native.wrap(at_tensor);
  note_owner(handle, 1);
  return handle;
}

void add_to_frame(const tenon_frame* frame, tenon_tensor* tensor) {
  note_owner(tensor, -1);
  recorder().native.add_to_frame(frame, tensor);
}

tenon_status copy_run_tensor(const tenon_tensor* tensor, tenon_tensor** out) {
  const tenon_status status = components::run_tensors_extension().copy(tensor, out);
  if (status == TENON_OK) note_owner(*out, 1);
  return status;
}

const void* get_extension(std::string_view id) {
  static const tenon_native_torch native = [] {
    tenon_native_torch table = recorder().native;
    table.wrap = wrap;
    table.add_to_frame = add_to_frame;
    return table;
  }();
  static const tenon_run_tensors run_tensors = [] {
    tenon_run_tensors table = components::run_tensors_extension();
    table.copy = copy_run_tensor;
    return table;
  }();
  if (id == TENON_NATIVE_TORCH) return &native;
  if (id == TENON_RUN_TENSORS) return &run_tensors;
  return recorder().libtorch.get_extension(id);
}

}  // namespace

void install_recording_functions() {
  recorder().training_thread = std::this_thread::get_id();
  const components::TensorFunctions& libtorch = recorder().libtorch;
  components::install_tensor_functions({retain, release, libtorch.tensor_info, libtorch.tensor_data, find_operator,
                                        call, make_tensor, append, get_extension});
}

HostUse host_use() {
  const std::lock_guard lock(recorder().mutex);
  HostUse use = recorder().use;
  for (const auto& [tensor, count] : recorder().owned) use.owned += count;
  return use;
}

}  // namespace tenon::validation

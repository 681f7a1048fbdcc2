#include "tests/cuda/simulated_device.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/core/stack.h>
#include <ATen/detail/CUDAHooksInterface.h>
#include <ATen/native/Copy.h>
#include <ATen/native/TensorIterator.h>
#include <ATen/ops/_reshape_alias_native.h>
#include <ATen/ops/as_strided_native.h>
#include <ATen/ops/unfold_native.h>
#include <ATen/ops/view_native.h>
#include <c10/core/CPUAllocator.h>
#include <c10/core/CachingDeviceAllocator.h>
#include <c10/core/impl/DeviceGuardImplInterface.h>
#include <torch/library.h>
#include <torch/types.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <set>

#include "tests/cuda/tested_device.h"

namespace tenon::simulated {

namespace {

const c10::Device kDevice(c10::kCUDA, 0);

std::atomic<int64_t> wait_count{0};
std::atomic<int64_t> records{0};
constexpr int64_t kEventLag = 3;  // number of later event records until an event is complete
std::mutex names_mutex;
std::vector<std::string> wait_names;

void wait_for(const std::string& what) {
  ++wait_count;
  const std::lock_guard lock(names_mutex);
  wait_names.push_back(what);
}

// Streams do nothing: all work runs immediately. Events only simulate a delay.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return c10::Stream(c10::Stream::DEFAULT, kDevice); }
  c10::Stream exchangeStream(c10::Stream stream) const override { return stream; }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  void record(void** event, const c10::Stream&, const c10::DeviceIndex, const c10::EventFlag) const override {
    if (!*event) *event = new int64_t;
    *static_cast<int64_t*>(*event) = ++records;
  }
  void block(void*, const c10::Stream&) const override {}
  bool queryEvent(void* event) const override { return !event || records >= *static_cast<int64_t*>(event) + kEventLag; }
  void synchronizeEvent(void*) const override { wait_for("an event"); }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<int64_t*>(event);
  }
};

// Keeps track of its allocations.
class PinnedMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const memory = bytes > 0 ? c10::GetDefaultCPUAllocator()->raw_allocate(bytes) : nullptr;
    const std::lock_guard lock(mutex_);
    lent_.insert(memory);
    return {memory, memory, give_back, c10::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return give_back; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
  bool has(const void* memory) const {
    const std::lock_guard lock(mutex_);
    return lent_.contains(memory);
  }
  static PinnedMemory& all() {
    static PinnedMemory memory;
    return memory;
  }

 private:
  static void give_back(void* memory) {
    const std::lock_guard lock(all().mutex_);
    all().lent_.erase(memory);
    if (memory) c10::GetDefaultCPUAllocator()->raw_deallocate(memory);
  }
  mutable std::mutex mutex_;
  std::set<const void*> lent_;
};

// Counts the memory of the device's tensors, which is CPU memory.
class Memory final : public c10::DeviceAllocator {
 public:
  static Memory& all() {
    static Memory memory;
    return memory;
  }
  void add(int64_t bytes) {
    const int64_t now = now_ += bytes;
    int64_t peak = peak_;
    while (now > peak && !peak_.compare_exchange_weak(peak, now)) {
    }
  }
  c10::CachingDeviceAllocator::DeviceStats getDeviceStats(c10::DeviceIndex) override {
    c10::CachingDeviceAllocator::DeviceStats statistics;
    statistics.allocated_bytes[static_cast<size_t>(c10::CachingAllocator::StatType::AGGREGATE)].peak = peak_;
    return statistics;
  }
  bool initialized() override { return true; }
  void emptyCache(c10::MempoolId_t) override {}
  void recordStream(const c10::DataPtr&, c10::Stream) override {}
  void resetAccumulatedStats(c10::DeviceIndex) override {}
  void resetPeakStats(c10::DeviceIndex) override {}
  c10::DataPtr allocate(size_t) override { TORCH_CHECK(false, "tensors are made by operators"); }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }

 private:
  std::atomic<int64_t> now_{0};
  std::atomic<int64_t> peak_{0};
};

struct Hooks final : at::CUDAHooksInterface {
  explicit Hooks(at::CUDAHooksArgs) {}
  void init() const override {}
  bool hasCUDA() const override { return true; }
  bool isBuilt() const override { return true; }
  bool isAvailable() const override { return true; }
  bool hasPrimaryContext(c10::DeviceIndex) const override { return true; }
  c10::DeviceIndex deviceCount() const override { return 1; }
  int getNumGPUs() const override { return 1; }
  c10::DeviceIndex getCurrentDevice() const override { return 0; }
  c10::DeviceIndex current_device() const override { return 0; }
  void setCurrentDevice(c10::DeviceIndex) const override {}
  // Uses the CPU generator, because the CPU's kernels sample the numbers.
  const at::Generator& getDefaultGenerator(c10::DeviceIndex) const override {
    return at::detail::getDefaultCPUGenerator();
  }
  c10::Allocator* getPinnedMemoryAllocator() const override { return &PinnedMemory::all(); }
  bool isPinnedPtr(const void* memory) const override { return PinnedMemory::all().has(memory); }
  c10::Device getDeviceFromPtr(void*) const override { return kDevice; }
};

at::Tensor on_cpu(const at::TensorBase& tensor) {
  return at::from_blob(tensor.data_ptr(), tensor.sizes(), tensor.strides(), tensor.options().device(c10::kCPU));
}

// Creates a device tensor that keeps the CPU memory alive.
at::Tensor on_device(const at::Tensor& tensor, const std::vector<at::Tensor>& inputs) {
  const auto bytes = static_cast<int64_t>(tensor.nbytes());
  Memory::all().add(bytes);
  return at::from_blob(
      tensor.data_ptr(), tensor.sizes(), tensor.strides(),
      [tensor, inputs, bytes](void*) { Memory::all().add(-bytes); }, tensor.options().device(kDevice), kDevice);
}

void copy(at::TensorIterator& iterator, bool non_blocking) {
  const at::TensorBase& to = iterator.tensor(0);
  const at::TensorBase& from = iterator.tensor(1);
  const auto is_pinned = [](const at::TensorBase& tensor) { return PinnedMemory::all().has(tensor.storage().data()); };
  // Small copies are part of the command, whether the memory is pinned or not.
  constexpr size_t kWithinCommand = 65536;
  if (to.is_cpu() && !(non_blocking && is_pinned(to))) wait_for("a copy to the host");
  if (from.is_cpu() && !(non_blocking && (is_pinned(from) || from.nbytes() <= kWithinCommand)))
    wait_for("a copy from the host");
  const c10::impl::ExcludeDispatchKeyGuard no_autograd(c10::autograd_dispatch_keyset);
  on_cpu(to).copy_(on_cpu(from));
}

// Returns whether an operator synchronises: the device computes the size of its result, or its result is a host number.
bool makes_wait(const std::string& name, const c10::FunctionSchema& schema) {
  static const std::set<std::string> kNames{"aten::nonzero",          "aten::masked_select",      "aten::_unique2",
                                            "aten::unique_dim",       "aten::unique_consecutive", "aten::bincount",
                                            "aten::repeat_interleave"};
  if (kNames.contains(name)) return true;
  return std::ranges::any_of(schema.returns(), [](const c10::Argument& given) {
    const c10::TypeKind kind = given.type()->kind();
    return kind == c10::TypeKind::BoolType || kind == c10::TypeKind::NumberType;
  });
}

// A call on the device. It runs on the CPU with tensors over the same memory.
class Call {
 public:
  explicit Call(const c10::OperatorHandle& op) : name_(op.schema().operator_name().name) {}

  void take(c10::IValue& argument) {
    if (argument.isTensor()) {
      argument = to_cpu(argument.toTensor());
    } else if (argument.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : argument.toTensorVector()) list.push_back(to_cpu(tensor));
      argument = std::move(list);
    } else if (argument.isOptionalTensorList()) {
      c10::List<std::optional<at::Tensor>> list;
      for (const auto& tensor : argument.toOptionalTensorVector())
        list.push_back(tensor ? std::optional(to_cpu(*tensor)) : std::nullopt);
      argument = std::move(list);
    } else if (argument.isDevice()) {
      argument = c10::Device(c10::kCPU);
    }
  }

  void give(c10::IValue& result) {
    if (result.isTensor()) {
      result = to_device(result.toTensor());
    } else if (result.isTensorList()) {
      c10::List<at::Tensor> list;
      for (const at::Tensor& tensor : result.toTensorVector()) list.push_back(to_device(tensor));
      result = std::move(list);
    }
  }

 private:
  at::Tensor to_cpu(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    if (tensor.is_cpu()) {
      // CUDA kernels accept CPU tensors only as scalars. Kernels that take only pointers do not accept even these.
      const bool is_strict = name_.starts_with("aten::_amp") || name_.starts_with("aten::_fused");
      TORCH_CHECK(tensor.dim() == 0 && !is_strict, name_, ": a tensor is on the CPU, others are on ", kDevice);
      return tensor;
    }
    originals_.push_back(tensor);
    // An empty tensor may be an output.
    const bool is_empty = tensor.numel() == 0;
    return aliases_.emplace_back(is_empty ? at::empty(tensor.sizes(), tensor.options().device(c10::kCPU))
                                          : on_cpu(tensor));
  }

  at::Tensor to_device(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    for (size_t i = 0; i < aliases_.size(); ++i) {
      if (!aliases_[i].is_same(tensor)) continue;
      if (originals_[i].sizes() != tensor.sizes()) take_over(originals_[i], tensor);
      return originals_[i];
    }
    return on_device(tensor, originals_);
  }

  void take_over(const at::Tensor& original, const at::Tensor& resized) const {
    TORCH_CHECK(original.numel() == 0, name_, ": has resized an argument with elements");
    original.unsafeGetTensorImpl()->set_storage_keep_dtype(on_device(resized, {}).storage());
    original.unsafeGetTensorImpl()->set_sizes_and_strides(resized.sizes(), resized.strides());
  }

  std::string name_;
  std::vector<at::Tensor> originals_;
  std::vector<at::Tensor> aliases_;
};

void compute_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& name = schema.operator_name().name;
  if (makes_wait(name, schema)) wait_for(name);
  Call call(op);
  for (auto argument = stack->end() - static_cast<int64_t>(schema.arguments().size()); argument != stack->end();
       ++argument)
    call.take(*argument);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), stack);
  for (auto result = stack->end() - static_cast<int64_t>(schema.returns().size()); result != stack->end(); ++result)
    call.give(*result);
}

C10_REGISTER_GUARD_IMPL(CUDA, Guard)
REGISTER_ALLOCATOR(c10::kCUDA, &Memory::all())

const bool copies = [] {
  at::native::copy_stub.set_cuda_dispatch_ptr(copy);
  return true;
}();

}  // namespace

std::vector<std::string> take_wait_names() {
  const std::lock_guard lock(names_mutex);
  return std::exchange(wait_names, {});
}

}  // namespace tenon::simulated

namespace tenon::tests {

std::optional<support::ComputeDevice> tested_device() {
  return support::ComputeDevice{
      support::ComputeDevice::Kind::cuda, 0, "a simulated device", 9, 0, 1 << 30, "", "", "", ""};
}

std::string no_device() { return ""; }

int64_t device_waits() { return simulated::wait_count; }

}  // namespace tenon::tests

namespace at {
C10_REGISTER_CLASS(CUDAHooksRegistry, CUDAHooks, tenon::simulated::Hooks)
}  // namespace at

TORCH_LIBRARY_IMPL(_, CUDA, library) {
  library.fallback(torch::CppFunction::makeFromBoxedFunction<&tenon::simulated::compute_on_cpu>());
}

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  library.impl("as_strided", TORCH_FN(at::native::as_strided_tensorimpl));
  library.impl("view", TORCH_FN(at::native::view));
  library.impl("_reshape_alias", TORCH_FN(at::native::_reshape_alias));
  library.impl("unfold", TORCH_FN(at::native::unfold));
}

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
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <utility>

#include "tests/cuda/float_sgd.h"
#include "tests/cuda/for_each_tensor.h"
#include "tests/cuda/tested_device.h"
#include "tests/ranks/one_rank_backend.h"

namespace tenon::simulated {

namespace {

const c10::Device kDevice(c10::kCUDA, 0);

std::atomic<int64_t> wait_count{0};
std::atomic<int64_t> records{0};
constexpr int64_t kEventLag = 3;   // number of later event records until an event is complete
constexpr int kEventQueries = 20;  // number of queries after which an event is complete without later records
std::atomic<bool> warns_of_waits{false};
std::mutex names_mutex;
std::vector<std::string> wait_names;

std::atomic<int64_t> launch_count{0};
std::atomic<int64_t> overlapped_count{0};
std::atomic<int64_t> memory_limit{0};       // 0: none
std::atomic<int64_t> calls_until_error{0};  // 0: no error
std::atomic<bool> is_broken{false};

// After a device-side assertion every later call of CUDA fails with the same error.
void refuse_if_broken() {
  if (is_broken)
    throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 710,
                                "CUDA error: device-side assert triggered\nCUDA kernel errors might be asynchronously "
                                "reported at some other API call, so the stacktrace below might be incorrect.");
}

// The kernels of CUDA lack some dtypes that the CPU's kernels support.
void refuse_dtype(const std::string& name, at::ScalarType dtype) {
  const bool is_product = name == "aten::mm" || name == "aten::addmm" || name == "aten::bmm" || name == "aten::baddbmm";
  const bool lacks = (name == "aten::_amp_foreach_non_finite_check_and_unscale_" && dtype == at::kBFloat16) ||
                     (is_product && at::isIntegralType(dtype, /*includeBool=*/true)) ||
                     (name.starts_with("aten::upsample_bi") && at::isIntegralType(dtype, /*includeBool=*/true));
  TORCH_CHECK_NOT_IMPLEMENTED(!lacks, "\"", name, "\" not implemented for '", c10::toString(dtype), "'");
}

// The calls between begin() and end() of a graph.
struct Recording {
  std::vector<std::function<void()>> calls;
  bool is_valid = true;
};
Recording* recording = nullptr;
std::mutex recording_mutex;  // backward runs on another thread

// Calls the function, which appends a call to the recording, if there is one.
template <class Append>
void record(const Append& append) {
  const std::lock_guard lock(recording_mutex);
  if (recording) recording->calls.push_back(append());
}

void refuse_if_recording() {
  const std::lock_guard lock(recording_mutex);
  if (!recording) return;
  recording->is_valid = false;
  throw c10::AcceleratorError({__func__, __FILE__, __LINE__}, 900,
                              "CUDA error: operation not permitted when stream is capturing");
}

void wait_for(const std::string& what) {
  refuse_if_broken();
  refuse_if_recording();
  ++wait_count;
  if (warns_of_waits) {
    TORCH_WARN("called a synchronizing CUDA operation");
  }
  const std::lock_guard lock(names_mutex);
  wait_names.push_back(what);
}

// Copies from pinned memory that have not run yet. They run before the next work of their stream, or when another
// stream waits for it. Before that their results are wrong.
class PendingCopies {
 public:
  static PendingCopies& all() {
    // Never destroyed: a failed run may leave copies of pinned memory.
    static PendingCopies& copies = *new PendingCopies;
    return copies;
  }
  void add(c10::StreamId stream, std::function<void()> copy) {
    const std::lock_guard lock(mutex_);
    by_stream_[stream].push_back(std::move(copy));
  }
  // Returns their number.
  int64_t run(c10::StreamId stream) {
    std::vector<std::function<void()>> copies;
    {
      const std::lock_guard lock(mutex_);
      if (const auto found = by_stream_.find(stream); found != by_stream_.end()) copies.swap(found->second);
    }
    for (const auto& copy : copies) copy();
    return static_cast<int64_t>(copies.size());
  }

 private:
  std::mutex mutex_;
  std::map<c10::StreamId, std::vector<std::function<void()>>> by_stream_;
};

struct Recorded {
  int64_t at;  // the value of `records`
  c10::StreamId stream;
  int queries = 0;
};

constexpr c10::StreamId kDefaultStream = 0;
std::atomic<c10::StreamId> last_stream{kDefaultStream};
thread_local c10::StreamId current_stream = kDefaultStream;

c10::Stream stream_of(c10::StreamId id) { return c10::Stream(c10::Stream::UNSAFE, kDevice, id); }

// Streams do nothing: all work runs immediately. Events only simulate a delay.
struct Guard final : c10::impl::DeviceGuardImplInterface {
  c10::DeviceType type() const override { return c10::kCUDA; }
  c10::Device exchangeDevice(c10::Device) const override { return kDevice; }
  c10::Device getDevice() const override { return kDevice; }
  void setDevice(c10::Device) const override {}
  void uncheckedSetDevice(c10::Device) const noexcept override {}
  c10::Stream getStream(c10::Device) const override { return stream_of(current_stream); }
  c10::Stream getDefaultStream(c10::Device) const override { return stream_of(kDefaultStream); }
  c10::Stream getStreamFromGlobalPool(c10::Device, bool) const override { return stream_of(++last_stream); }
  c10::Stream exchangeStream(c10::Stream stream) const override {
    return stream_of(std::exchange(current_stream, stream.id()));
  }
  void synchronizeDevice(const c10::DeviceIndex) const override { wait_for("the device"); }
  c10::DeviceIndex deviceCount() const noexcept override { return 1; }

  void record(void** event, const c10::Stream& stream, const c10::DeviceIndex, const c10::EventFlag) const override {
    refuse_if_broken();
    if (!*event) *event = new Recorded;
    *static_cast<Recorded*>(*event) = {++records, stream.id()};
  }
  void block(void* event, const c10::Stream&) const override {
    overlapped_count += PendingCopies::all().run(static_cast<Recorded*>(event)->stream);
  }
  bool queryEvent(void* event) const override {
    refuse_if_broken();
    if (!event) return true;
    auto& recorded = *static_cast<Recorded*>(event);
    return records >= recorded.at + kEventLag || ++recorded.queries > kEventQueries;
  }
  void synchronizeEvent(void*) const override { wait_for("an event"); }
  void destroyEvent(void* event, const c10::DeviceIndex) const noexcept override {
    delete static_cast<Recorded*>(event);
  }
};

// Keeps track of its allocations.
class PinnedMemory final : public c10::Allocator {
 public:
  c10::DataPtr allocate(size_t bytes) override {
    void* const memory = bytes > 0 ? c10::GetDefaultCPUAllocator()->raw_allocate(bytes) : nullptr;
    const std::lock_guard lock(mutex_);
    lent_[memory] = {};
    return {memory, memory, give_back, c10::kCPU};
  }
  c10::DeleterFnPtr raw_deleter() const override { return give_back; }
  void copy_data(void* to, const void* from, size_t bytes) const override { default_copy_data(to, from, bytes); }
  bool has(const void* memory) const {
    const std::lock_guard lock(mutex_);
    return lent_.contains(memory);
  }
  void note_use(const void* memory) {
    const std::lock_guard lock(mutex_);
    lent_.at(memory).is_used = true;
  }
  static PinnedMemory& all() {
    static PinnedMemory& memory = *new PinnedMemory;
    return memory;
  }

 private:
  // LibTorch's allocator records events here, which throws on a broken device although the caller is a destructor.
  static void give_back(void* memory) {
    const std::lock_guard lock(all().mutex_);
    if (all().lent_.extract(memory).mapped().is_used) refuse_if_broken();
    if (memory) c10::GetDefaultCPUAllocator()->raw_deallocate(memory);
  }
  struct Block {
    bool is_used = false;  // by an asynchronous copy
  };
  mutable std::mutex mutex_;
  std::map<const void*, Block> lent_;
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
    if (memory_limit > 0 && bytes > 0 && now > memory_limit) {
      now_ -= bytes;
      throw c10::OutOfMemoryError({__func__, __FILE__, __LINE__},
                                  "CUDA out of memory. Tried to allocate " + std::to_string(bytes) + " bytes.");
    }
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
  void resetPeakStats(c10::DeviceIndex) override { peak_ = now_.load(); }
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
  refuse_if_broken();
  ++launch_count;
  const at::TensorBase& to = iterator.tensor(0);
  const at::TensorBase& from = iterator.tensor(1);
  const auto is_pinned = [](const at::TensorBase& tensor) { return PinnedMemory::all().has(tensor.storage().data()); };
  if (non_blocking)
    for (const at::TensorBase* tensor : {&to, &from})
      if (tensor->is_cpu() && is_pinned(*tensor)) PinnedMemory::all().note_use(tensor->storage().data());
  // Small copies are part of the command, whether the memory is pinned or not.
  constexpr size_t kWithinCommand = 65536;
  if (to.is_cpu() && !(non_blocking && is_pinned(to))) wait_for("a copy to the host");
  if (from.is_cpu() && !(non_blocking && (is_pinned(from) || from.nbytes() <= kWithinCommand)))
    wait_for("a copy from the host");
  const auto run = [to = at::Tensor(to), from = at::Tensor(from)] {
    const at::AutoDispatchBelowADInplaceOrView no_autograd;
    on_cpu(to).copy_(on_cpu(from));
  };
  record([&] { return run; });
  if (!from.is_cpu() || !non_blocking || !is_pinned(from)) {
    PendingCopies::all().run(current_stream);
    return run();
  }
  if (to.is_contiguous()) std::memset(to.data_ptr(), 0xff, to.nbytes());
  PendingCopies::all().add(current_stream, run);
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
    tests::for_each_tensor(argument, [&](const at::Tensor& tensor) { return to_cpu(tensor); });
    if (argument.isDevice()) argument = c10::Device(c10::kCPU);
  }

  void give(c10::IValue& result) {
    tests::for_each_tensor(result, [&](const at::Tensor& tensor) { return to_device(tensor); });
  }

 private:
  at::Tensor to_cpu(const at::Tensor& tensor) {
    if (!tensor.defined()) return tensor;
    refuse_dtype(name_, tensor.scalar_type());
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

// An operator on lists takes one kernel if all tensors have one dtype, otherwise at least one for each tensor.
int64_t count_launches(const c10::FunctionSchema& schema, const torch::jit::Stack& stack) {
  if (!schema.operator_name().name.starts_with("aten::_foreach_")) return 1;
  std::vector<at::Tensor> tensors;
  for (auto argument = stack.end() - static_cast<int64_t>(schema.arguments().size()); argument != stack.end();
       ++argument)
    if (argument->isTensorList())
      for (const at::Tensor& tensor : argument->toTensorVector()) tensors.push_back(tensor);
  const bool is_uniform = std::ranges::all_of(
      tensors, [&](const at::Tensor& tensor) { return tensor.scalar_type() == tensors.front().scalar_type(); });
  return is_uniform ? 1 : static_cast<int64_t>(tensors.size());
}

// Copies the results of a repeated call to the memory of the recorded ones. Views already have it.
void write_results(const c10::IValue& recorded, const c10::IValue& result) {
  const auto write = [](const at::Tensor& to, const at::Tensor& from) {
    if (!to.defined() || to.data_ptr() == from.data_ptr()) return;
    TORCH_CHECK(to.sizes() == from.sizes(), "a replayed call has a result of another size");
    on_cpu(to).copy_(from);
  };
  if (recorded.isTensor()) return write(recorded.toTensor(), result.toTensor());
  if (!recorded.isTensorList()) return;
  const std::vector<at::Tensor> to = recorded.toTensorVector(), from = result.toTensorVector();
  for (size_t i = 0; i < to.size(); ++i) write(to[i], from[i]);
}

// CUDA's softmax can convert half precision to single precision, and its backward converts the gradient back.
void redispatch(const c10::OperatorHandle& op, torch::jit::Stack& stack) {
  const std::string& name = op.schema().operator_name().name;
  const auto arguments = stack.end() - static_cast<int64_t>(op.schema().arguments().size());
  std::optional<at::ScalarType> result_dtype;
  if ((name == "aten::_softmax" || name == "aten::_log_softmax") && arguments[2].toBool()) {
    arguments[0] = arguments[0].toTensor().to(at::kFloat);
    arguments[2] = false;
  } else if (name == "aten::_softmax_backward_data" || name == "aten::_log_softmax_backward_data") {
    result_dtype = arguments[3].toScalarType();
    arguments[3] = arguments[0].toTensor().scalar_type();
  }
  const auto copies = tests::use_float_sgd(op, stack);
  op.redispatchBoxed(c10::DispatchKeySet(c10::DispatchKey::CPU), &stack);
  for (const auto& [to, from] : copies) to.copy_(from);
  if (result_dtype) stack.back() = stack.back().toTensor().to(*result_dtype);
}

void repeat(const c10::OperatorHandle& op, torch::jit::Stack stack, const torch::jit::Stack& results) {
  const at::AutoDispatchBelowADInplaceOrView no_autograd;
  Call call(op);
  for (c10::IValue& argument : stack) call.take(argument);
  redispatch(op, stack);
  for (size_t i = 0; i < results.size(); ++i) write_results(results[i], stack[i]);
}

void compute_on_cpu(const c10::OperatorHandle& op, torch::jit::Stack* stack) {
  const c10::FunctionSchema& schema = op.schema();
  const std::string& name = schema.operator_name().name;
  refuse_if_broken();
  if (calls_until_error > 0 && --calls_until_error == 0) is_broken = true;
  const bool is_work = !name.starts_with("aten::empty");
  if (is_work) launch_count += count_launches(schema, *stack);
  if (makes_wait(name, schema)) wait_for(name);
  if (is_work) PendingCopies::all().run(current_stream);
  const torch::jit::Stack arguments(stack->end() - static_cast<int64_t>(schema.arguments().size()), stack->end());
  Call call(op);
  for (auto argument = stack->end() - static_cast<int64_t>(schema.arguments().size()); argument != stack->end();
       ++argument)
    call.take(*argument);
  redispatch(op, *stack);
  for (auto result = stack->end() - static_cast<int64_t>(schema.returns().size()); result != stack->end(); ++result)
    call.give(*result);
  if (!is_work) return;
  record([&] {
    const torch::jit::Stack results(stack->end() - static_cast<int64_t>(schema.returns().size()), stack->end());
    return [op, arguments, results] { repeat(op, arguments, results); };
  });
}

bool has_no_ctc_loss(const at::Tensor&, const at::Tensor&, at::IntArrayRef, at::IntArrayRef, int64_t) { return false; }

// Returns the next state and a workspace for the backward pass: the gates with their biases, and the state.
std::tuple<at::Tensor, at::Tensor> fused_gru_cell(const at::Tensor& input_gates, const at::Tensor& hidden_gates,
                                                  const at::Tensor& state, const std::optional<at::Tensor>& input_bias,
                                                  const std::optional<at::Tensor>& hidden_bias) {
  const auto add = [](const at::Tensor& gates, const std::optional<at::Tensor>& bias) {
    return bias && bias->defined() ? gates + *bias : gates;
  };
  const at::Tensor inputs = add(input_gates, input_bias), hidden = add(hidden_gates, hidden_bias);
  const std::vector<at::Tensor> of_input = inputs.chunk(3, 1), of_hidden = hidden.chunk(3, 1);
  const at::Tensor reset = (of_input[0] + of_hidden[0]).sigmoid(), update = (of_input[1] + of_hidden[1]).sigmoid();
  const at::Tensor candidate = (of_input[2] + reset * of_hidden[2]).tanh();
  return {candidate + update * (state - candidate), at::cat({inputs, hidden, state}, 1)};
}

std::tuple<at::Tensor, at::Tensor, at::Tensor, at::Tensor, at::Tensor> fused_gru_cell_backward(
    const at::Tensor& gradient, const at::Tensor& workspace, bool has_bias) {
  const int64_t width = gradient.size(1);
  const std::vector<at::Tensor> saved = workspace.split_with_sizes({3 * width, 3 * width, width}, 1);
  auto gradients = at::_thnn_differentiable_gru_cell_backward(gradient, saved[0], saved[1], saved[2], {}, {});
  if (has_bias) {
    std::get<3>(gradients) = std::get<0>(gradients).sum(0);
    std::get<4>(gradients) = std::get<1>(gradients).sum(0);
  }
  return gradients;
}

// Runs the recorded calls again, on the same memory. Numbers that the host passed to them stay as they were.
class Graph final : public support::DeviceGraph {
 public:
  void begin(support::DeviceGraph*) override {
    TORCH_CHECK(current_stream != kDefaultStream, "the default stream cannot be recorded");
    const std::lock_guard lock(recording_mutex);
    recording = &recording_;
  }
  void end() override {
    cancel();
    TORCH_CHECK(recording_.is_valid, "CUDA error: operation failed due to a previous error during capture");
  }
  void cancel() noexcept override {
    const std::lock_guard lock(recording_mutex);
    recording = nullptr;
  }
  void replay() override {
    refuse_if_broken();
    ++launch_count;
    for (const auto& call : recording_.calls) call();
  }

 private:
  Recording recording_;
};

C10_REGISTER_GUARD_IMPL(CUDA, Guard)
REGISTER_ALLOCATOR(c10::kCUDA, &Memory::all())

const bool copies = [] {
  at::native::copy_stub.set_cuda_dispatch_ptr(copy);
  return true;
}();

}  // namespace

int64_t launches() { return launch_count; }

void limit_memory(int64_t bytes) { memory_limit = bytes; }

void fail_after(int64_t calls) {
  is_broken = false;
  calls_until_error = calls;
}

void warn_of_waits(bool warns) { warns_of_waits = warns; }

int64_t overlapped_copies() { return overlapped_count; }

std::vector<std::string> take_wait_names() {
  const std::lock_guard lock(names_mutex);
  return std::exchange(wait_names, {});
}

}  // namespace tenon::simulated

namespace tenon::tests {

std::optional<support::ComputeDevice> tested_device() {
  return support::ComputeDevice{
      support::ComputeDevice::Kind::cuda, 0, "a simulated device", 9, 0, 1 << 30, "", "", "", "", [] {
        return std::make_unique<simulated::Graph>();
      }};
}

std::string no_device() { return ""; }

distributed::ProcessGroup::MakeBackend tested_nccl() {
  return [](const auto&, int rank, int size, std::chrono::milliseconds) {
    return c10::make_intrusive<distributed::OneRankBackend>(rank, size);
  };
}

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
  library.impl("_use_cudnn_ctc_loss", TORCH_FN(tenon::simulated::has_no_ctc_loss));
  library.impl("_use_miopen_ctc_loss", TORCH_FN(tenon::simulated::has_no_ctc_loss));
  // Without these, LibTorch would compute lists tensor by tensor, select convolutions that the CPU does not have, and
  // allocate results that do not fit the CPU's kernels.
  static const std::set<std::string> kWhole{
      "aten::convolution",    "aten::convolution_backward",   "aten::mse_loss",
      "aten::smooth_l1_loss", "aten::_softmax_backward_data", "aten::_log_softmax_backward_data"};
  for (const c10::OperatorName& op : c10::Dispatcher::singleton().getAllOpNames())
    if (op.name.starts_with("aten::_foreach_") || kWhole.contains(op.name))
      library.impl(c10::toString(op).c_str(),
                   torch::CppFunction::makeFromBoxedFunction<&tenon::simulated::compute_on_cpu>());
}

// Operators that LibTorch has only for CUDA.
TORCH_LIBRARY_IMPL(aten, CPU, library) {
  library.impl("_thnn_fused_gru_cell", TORCH_FN(tenon::simulated::fused_gru_cell));
  library.impl("_thnn_fused_gru_cell_backward", TORCH_FN(tenon::simulated::fused_gru_cell_backward));
}

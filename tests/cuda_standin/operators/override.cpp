// Overrides LibTorch's operators of CUDA devices. LibTorch's host code runs first, with kernels that do nothing: it
// checks arguments and determinism, allocates results, launches kernels and takes random numbers. Then the CPU computes
// the results in the same memory.
#include <ATen/ATen.h>
#include <ATen/CPUGeneratorImpl.h>
#include <ATen/autocast_mode.h>
#include <ATen/core/dispatch/Dispatcher.h>
#include <ATen/cuda/CUDAGeneratorImpl.h>
#include <ATen/cuda/PhiloxCudaState.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>
#include <torch/library.h>

#include <cstdio>
#include <map>
#include <mutex>
#include <set>
#include <sstream>
#include <string>

#include "tests/cuda/for_each_tensor.h"
#include "tests/cuda_standin/operators/compute.h"
#include "tests/cuda_standin/standin.h"

namespace tenon::standin {

namespace {

using c10::IValue;
using tests::for_each_tensor;
using torch::jit::Stack;
using Names = std::set<std::string>;

Names aten_names(const std::string& words) {
  std::istringstream stream(words);
  Names names;
  for (std::string word; stream >> word;) names.insert("aten::" + word);
  return names;
}

// They make views or copies, or only run on the host.
const Names kReal = aten_names(
    "as_strided view _reshape_alias unfold set_ resize_ empty empty_strided record_stream _local_scalar_dense "
    "is_pinned _pin_memory is_set_to _resize_output_ _efficientzerotensor view_as_real view_as_complex "
    "_fused_sdp_choice _cudnn_init_dropout_state");

// Their host code reads what kernels have computed, or calls a library that is not there.
const Names kWithoutHostCode = aten_names(
    "nonzero nonzero_static _unique _unique2 unique_dim unique_consecutive masked_select repeat_interleave "
    "bincount _ctc_loss _ctc_loss_backward randperm multinomial _embedding_bag convolution convolution_backward "
    "copy_ _thnn_fused_gru_cell _thnn_fused_gru_cell_backward");

// They wait for the device, because the size of the result depends on values.
const Names kWaiting =
    aten_names("nonzero masked_select _unique _unique2 unique_dim unique_consecutive bincount repeat_interleave");

// Where the host code does not run: the names in errors of deterministic runs.
const std::map<std::string, const char*> kNotDeterministic{{"aten::_ctc_loss_backward", "ctc_loss_backward_gpu"}};

// CUDA returns nothing where the CPU returns what its backward reads.
const Names kDifferentResults = aten_names("log_sigmoid_forward log_sigmoid_forward.output");

bool runs_host_code(const std::string& name) {
  for (const char* library : {"aten::linalg_", "aten::_linalg", "aten::_fft", "aten::cudnn", "aten::_cudnn"})
    if (name.starts_with(library)) return false;
  return !kWithoutHostCode.contains(name) && !name.starts_with("aten::_use_");
}

std::map<std::string, c10::SafeKernelFunction>& real_kernels() {
  static auto* const kernels = new std::map<std::string, c10::SafeKernelFunction>;
  return *kernels;
}

cudaStream_t stream() { return c10::cuda::getCurrentCUDAStream().stream(); }

bool is_capturing() {
  cudaStreamCaptureStatus status = cudaStreamCaptureStatusNone;
  C10_CUDA_CHECK(cudaStreamIsCapturing(stream(), &status));
  return status != cudaStreamCaptureStatusNone;
}

// The memory of a device's tensor as a CPU tensor.
at::Tensor view_on_host(const at::Tensor& tensor) {
  const auto options = tensor.options().device(at::kCPU);
  if (tensor.numel() == 0) return at::empty_strided(tensor.sizes(), tensor.strides(), options);
  at::Tensor view = at::from_blob(host_address(tensor.data_ptr()), tensor.sizes(), tensor.strides(), options);
  if (tensor.is_conj()) view = view.conj();
  if (tensor.is_neg()) view = view._neg_view();
  return view;
}

std::vector<at::Tensor> tensors_of(IValue value) {
  std::vector<at::Tensor> all;
  for_each_tensor(value, [&](const at::Tensor& tensor) {
    all.push_back(tensor);
    return tensor;
  });
  return all;
}

Access access_of(const at::Tensor& tensor, bool is_written) {
  size_t elements = 1;
  for (int64_t i = 0; i < tensor.dim(); ++i) elements += static_cast<size_t>((tensor.size(i) - 1) * tensor.stride(i));
  return {tensor.data_ptr(), elements * tensor.element_size(), is_written};
}

bool is_on_device(const at::Tensor& tensor) { return tensor.defined() && tensor.is_cuda() && tensor.numel() > 0; }

// What the kernel of a random operator would read.
struct Random {
  at::PhiloxCudaState state;

  uint64_t seed() const {
    return state.captured_ ? *static_cast<uint64_t*>(host_address(state.seed_.ptr)) : state.seed_.val;
  }
  uint64_t offset() const {
    return state.captured_ ? *static_cast<uint64_t*>(host_address(state.offset_.ptr)) + state.offset_intragraph_
                           : state.offset_.val;
  }
};

std::optional<Random> find_random(const c10::OperatorHandle& op, const Stack& arguments, bool runs_host_code) {
  if (!op.hasTag(at::Tag::nondeterministic_seeded) || op.schema().operator_name().name == "aten::_cudnn_rnn")
    return std::nullopt;
  at::Generator generator = at::cuda::detail::getDefaultCUDAGenerator();
  for (const IValue& argument : arguments)
    if (argument.isGenerator() && argument.toGenerator().defined()) generator = argument.toGenerator();
  auto* const cuda = at::check_generator<at::CUDAGeneratorImpl>(generator);
  const std::lock_guard lock(cuda->mutex_);
  return Random{cuda->philox_cuda_state(runs_host_code ? 0 : 4)};  // the host code takes the numbers
}

void compute_with(const std::optional<Random>& random, const c10::OperatorHandle& op, Stack& stack) {
  if (!random) return compute(op, stack);
  static std::mutex mutex;
  const std::lock_guard lock(mutex);
  at::Generator generator = at::detail::getDefaultCPUGenerator();
  const at::Tensor before = generator.get_state();
  generator.set_current_seed(random->seed() * 0x9e3779b97f4a7c15 + random->offset());
  try {
    compute(op, stack);
  } catch (...) {
    generator.set_state(before);
    throw;
  }
  generator.set_state(before);
}

void compare(const std::string& name, const at::Tensor& on_device, const at::Tensor& on_cpu) {
  // With running statistics, only CUDA returns those of the batch. Its backward does not read them.
  if (name == "aten::native_batch_norm" && on_cpu.numel() == 0) return;
  const auto describe = [](const at::Tensor& tensor) {
    return std::string(c10::toString(tensor.scalar_type())) + " " + c10::str(tensor.sizes());
  };
  if (on_device.sizes() != on_cpu.sizes() && !kDifferentResults.contains(name))
    report(name + ": the result on CUDA is " + describe(on_device) + ", on the CPU " + describe(on_cpu));
  else if (on_device.scalar_type() != on_cpu.scalar_type())
    log(name + ": the result on CUDA is " + describe(on_device) + ", on the CPU " + describe(on_cpu));
}

thread_local int host_code_calls = 0;

struct InHostCode {
  InHostCode() { ++host_code_calls; }
  ~InHostCode() { --host_code_calls; }
  InHostCode(const InHostCode&) = delete;
  InHostCode& operator=(const InHostCode&) = delete;
  Shadow shadow;
};

// One call of an operator.
class Call final {
 public:
  Call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack& stack)
      : op_(op),
        keys_(keys),
        stack_(stack),
        name_(op.schema().operator_name().name),
        results_(op.schema().returns().size()),
        arguments_(stack.end() - static_cast<int64_t>(op.schema().arguments().size()), stack.end()) {}

  void run() {
    const c10::cuda::OptionalCUDAGuard guard(find_device());
    const auto real = real_kernels().find(c10::toString(op_.schema().operator_name()));
    if (real != real_kernels().end() && stays_real()) return real->second.callBoxed(op_, keys_, &stack_);
    const bool has_host_code = real != real_kernels().end() && runs_host_code(name_);
    if (host_code_calls > 0 && has_host_code) return real->second.callBoxed(op_, keys_, &stack_);
    if (const auto alert = kNotDeterministic.find(name_); alert != kNotDeterministic.end())
      at::globalContext().alertNotDeterministic(alert->second);
    if (kWaiting.contains(name_)) c10::cuda::stream_synchronize(stream());
    is_capturing_ = is_capturing();
    random_ = find_random(op_, arguments_, has_host_code);
    find_accesses();
    keep_written(has_host_code);
    if (has_host_code) run_host_code(real->second);
    make_cpu_arguments();
    // A recorded operator does not run. Its host code has made the results, with any values.
    is_postponed_ = is_capturing_ && has_host_code;
    Stack results = cpu_arguments_;
    if (is_postponed_)
      results = device_results_;
    else
      compute_with(is_capturing_ && random_ && random_->state.captured_ ? std::nullopt : random_, op_, results);
    return_results(results);
  }

 private:
  bool stays_real() const {
    if (name_ == "aten::copy_") return arguments_[0].toTensor().device() != arguments_[1].toTensor().device();
    if (is_composed(name_) || op_.hasComputedKernelForDispatchKey(c10::DispatchKey::CPU)) return false;
    if (host_code_calls == 0) report(name_ + ": the CPU has no kernel, so its results are not computed");
    return true;
  }

  // As in LibTorch's kernels, the operator runs on the device of the first tensor, or on the one that it names.
  std::optional<c10::Device> find_device() const {
    for (const IValue& argument : arguments_) {
      if (argument.isDevice() && argument.toDevice().is_cuda() && argument.toDevice().has_index())
        return argument.toDevice();
      for (const at::Tensor& tensor : tensors_of(argument))
        if (tensor.defined() && tensor.is_cuda()) return tensor.device();
    }
    return std::nullopt;
  }

  void find_accesses() {
    const auto& arguments = op_.schema().arguments();
    for (size_t i = 0; i < arguments_.size(); ++i) {
      const auto* const alias = arguments[i].alias_info();
      for (const at::Tensor& tensor : tensors_of(arguments_[i])) {
        if (!is_on_device(tensor)) continue;
        const bool is_written = alias && alias->isWrite();
        accesses_.push_back(access_of(tensor, is_written));
        if (is_written) written_.push_back(tensor);
      }
    }
  }

  // The host code may write to them, for example fill them with zeros.
  void keep_written(bool has_host_code) {
    if (!has_host_code && !is_capturing_) return;
    for (const at::Tensor& tensor : written_) {
      const at::Tensor view = view_on_host(tensor);
      kept_.emplace_back(view, view.clone());
    }
  }

  void run_host_code(const c10::SafeKernelFunction& kernel) {
    device_results_ = arguments_;
    {
      const InHostCode in_host_code;
      kernel.callBoxed(op_, keys_, &device_results_);
    }
    for (const auto& [to, from] : kept_) to.copy_(from);
  }

  void make_cpu_arguments() {
    cpu_arguments_ = arguments_;
    const auto& arguments = op_.schema().arguments();
    for (size_t i = 0; i < arguments_.size(); ++i) {
      IValue& value = cpu_arguments_[i];
      if (value.isDevice()) value = c10::Device(at::kCPU);
      if (value.isGenerator() || arguments[i].name() == "pin_memory") value = IValue();
      for_each_tensor(value, [&](const at::Tensor& tensor) {
        if (!tensor.defined()) return tensor;
        if (!tensor.is_cuda()) return is_capturing_ ? tensor.clone() : tensor;  // a kernel's argument
        return views_.emplace_back(view_on_host(tensor), tensor).first;
      });
    }
  }

  // Returns the tensor of the device for a result, and notes that the result must be copied there.
  at::Tensor give(const at::Tensor& result, const at::Tensor& on_device) {
    if (!result.defined()) return result;
    if (is_postponed_) {
      for (const auto& [view, original] : views_)
        if (original.is_same(result)) return result;
      outputs_.emplace_back(view_on_host(result), result);
      accesses_.push_back(access_of(result, true));
      return result;
    }
    for (const auto& [view, original] : views_)
      if (view.is_same(result)) {
        if (original.sizes() != result.sizes()) {
          original.resize_(result.sizes());
          outputs_.emplace_back(view_on_host(original), result);
        }
        return original;
      }
    at::Tensor tensor = on_device;
    if (tensor.defined())
      compare(name_, tensor, result);
    else
      tensor = at::empty_strided(result.sizes(), result.strides(), result.options().device(device()));
    if (tensor.sizes() == result.sizes()) {
      outputs_.emplace_back(view_on_host(tensor), result);
      if (tensor.numel() > 0) accesses_.push_back(access_of(tensor, true));
    }
    return tensor;
  }

  c10::Device device() const { return {at::kCUDA, c10::cuda::current_device()}; }

  void return_results(const Stack& results) {
    const size_t first = results.size() - results_;
    std::vector<IValue> returned;
    std::vector<std::pair<size_t, size_t>> places;  // of each output: the result, and the tensor in it
    for (size_t i = 0; i < results_; ++i) {
      IValue value = results[first + i];
      std::vector<at::Tensor> on_device;
      if (!device_results_.empty()) on_device = tensors_of(device_results_[device_results_.size() - results_ + i]);
      if (value.isNone() && !device_results_.empty()) {
        value = device_results_[device_results_.size() - results_ + i];
      } else if (value.isNone() && op_.schema().returns()[i].type()->kind() == c10::TypeKind::TensorType) {
        value = at::empty({0}, at::TensorOptions().dtype(at::kByte).device(device()));
      } else {
        size_t k = 0;
        for_each_tensor(value, [&](const at::Tensor& tensor) {
          const size_t before = outputs_.size(), place = k++;
          at::Tensor given = give(tensor, place < on_device.size() ? on_device[place] : at::Tensor());
          if (outputs_.size() > before) places.emplace_back(i, place);
          return given;
        });
      }
      returned.push_back(std::move(value));
    }
    torch::jit::drop(stack_, arguments_.size());
    for (IValue& value : returned) stack_.push_back(std::move(value));
    if (!is_capturing_) {
      for (const auto& [to, from] : outputs_)
        if (to.numel() > 0) to.copy_(from);
      C10_CUDA_CHECK(submit(stream(), name_, std::move(accesses_), {}));
      return;
    }
    // Nothing has run.
    for (const auto& [to, from] : kept_) to.copy_(from);
    record(std::move(places));
  }

  void record(std::vector<std::pair<size_t, size_t>> places) {
    std::vector<at::Tensor> to;
    for (const auto& [view, result] : outputs_) to.push_back(view);
    const auto work = [op = op_, arguments = cpu_arguments_, to, places = std::move(places), random = random_,
                       results = results_] {
      const at::AutoDispatchBelowADInplaceOrView no_autograd;
      Stack stack = arguments;
      compute_with(random, op, stack);
      for (size_t i = 0; i < to.size(); ++i) {
        const auto all = tensors_of(stack[stack.size() - results + places[i].first]);  // none: what only CUDA returns
        const size_t k = places[i].second;
        if (k < all.size() && all[k].defined() && all[k].sizes() == to[i].sizes() && to[i].numel() > 0)
          at::Tensor(to[i]).copy_(all[k]);
      }
    };
    C10_CUDA_CHECK(submit(stream(), name_, std::move(accesses_), work));
  }

  const c10::OperatorHandle& op_;
  c10::DispatchKeySet keys_;
  Stack& stack_;
  const std::string& name_;
  const size_t results_;
  const Stack arguments_;
  bool is_capturing_ = false, is_postponed_ = false;
  std::optional<Random> random_;
  std::vector<Access> accesses_;
  std::vector<at::Tensor> written_;
  std::vector<std::pair<at::Tensor, at::Tensor>> kept_;     // the memory of written arguments, and its contents
  std::vector<std::pair<at::Tensor, at::Tensor>> views_;    // of arguments on the device, and the arguments
  std::vector<std::pair<at::Tensor, at::Tensor>> outputs_;  // the memory of results, and the CPU's results
  Stack device_results_, cpu_arguments_;
};

void call(const c10::OperatorHandle& op, c10::DispatchKeySet keys, Stack* stack) {
  log(c10::toString(op.schema().operator_name()));
  Call(op, keys, *stack).run();
}

// Autocast of recurrent layers, which LibTorch casts to half precision in every case. LibTorch's copies the weights
// into a buffer that cuDNN lays out.
void cast_recurrent(const c10::OperatorHandle& op, c10::DispatchKeySet, Stack* stack) {
  const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::DispatchKey::AutocastCUDA);
  for (size_t i = stack->size() - op.schema().arguments().size(); i < stack->size(); ++i)
    for_each_tensor((*stack)[i], [](const at::Tensor& tensor) {
      return tensor.defined() && tensor.is_floating_point() ? tensor.to(at::kHalf) : tensor;
    });
  op.callBoxed(stack);
}

// LibTorch warns of replaced kernels.
struct IgnoreWarnings final : c10::WarningHandler {
  void process(const c10::Warning&) override {}
};

}  // namespace

}  // namespace tenon::standin

TORCH_LIBRARY_IMPL(aten, CUDA, library) {
  using namespace tenon::standin;
  IgnoreWarnings ignore;
  const c10::WarningUtils::WarningHandlerGuard guard(&ignore);
  at::globalContext().setSDPUseCuDNN(false);  // it needs cuDNN's own graphs
  for (const c10::OperatorName& name : c10::Dispatcher::singleton().getAllOpNames()) {
    if (!name.name.starts_with("aten::") || kReal.contains(name.name)) continue;
    const auto op = c10::Dispatcher::singleton().findSchema(name);
    if (!op) continue;
    const bool is_composite =
        name.name == "aten::convolution" || name.name == "aten::convolution_backward" || name.name == "aten::copy_";
    if (!op->hasKernelForDispatchKey(c10::DispatchKey::CUDA) && !is_composite) continue;
    if (op->hasComputedKernelForDispatchKey(c10::DispatchKey::CUDA))
      real_kernels().emplace(c10::toString(name), op->getComputedKernelForDispatchKey(c10::DispatchKey::CUDA));
    library.impl(c10::toString(name).c_str(), torch::CppFunction::makeFromBoxedFunction<&call>());
  }
}

TORCH_LIBRARY_IMPL(aten, AutocastCUDA, library) {
  using namespace tenon::standin;
  IgnoreWarnings ignore;
  const c10::WarningUtils::WarningHandlerGuard guard(&ignore);
  library.impl("_cudnn_rnn", torch::CppFunction::makeFromBoxedFunction<&cast_recurrent>());
}

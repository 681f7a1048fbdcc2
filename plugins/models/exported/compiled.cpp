#include "plugins/models/exported/compiled.h"

#include <ATen/autocast_mode.h>
#include <ATen/core/LegacyTypeDispatch.h>
#include <ATen/core/grad_mode.h>
#include <ATen/ops/empty_strided.h>
#include <torch/csrc/autograd/custom_function.h>
#include <torch/csrc/inductor/aoti_runner/model_container_runner_cpu.h>
#include <torch/headeronly/version.h>

#include <algorithm>
#include <stdexcept>
#include <utility>

#include <tenon/error.hpp>

#include "plugins/models/exported/archive.h"

namespace exported {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

constexpr const char* kRecord = "tenon/compiled.json";
constexpr const char* kLibraries = "tenon/";
constexpr int64_t kVersion = 1;

// How the machine code expects a tensor: without gaps, and with the dimensions in this order in memory, from the
// outermost. The strides of dimensions of size 1 count, too: LibTorch's convolutions read the memory format from them.
struct Layout {
  c10::ScalarType dtype;
  std::vector<int64_t> order;
  // Of a view with gaps, which only forward can have made; absent: depends on sizes.
  std::vector<std::optional<int64_t>> strides = {};

  // Whether each element is where the code expects it.
  bool has_elements_of(const at::Tensor& tensor) const { return matches(tensor, /*compares_all=*/false); }

  // The tensor, or a view or copy of it, as the code expects it. Without autograd.
  at::Tensor apply(const at::Tensor& tensor) const {
    if (!strides.empty()) return check_strides(tensor);
    if (matches(tensor, /*compares_all=*/true)) return tensor;
    if (static_cast<size_t>(tensor.dim()) != order.size())
      throw tenon::Error("a tensor has " + std::to_string(tensor.dim()) + " dimensions; the compiled graph expects " +
                         std::to_string(order.size()));
    const std::vector<int64_t> expected = strides_for(tensor.sizes());
    if (has_elements_of(tensor)) return tensor.as_strided(tensor.sizes(), expected);
    return at::empty_strided(tensor.sizes(), expected, tensor.options().dtype(dtype)).copy_(tensor);
  }

 private:
  const at::Tensor& check_strides(const at::Tensor& tensor) const {
    bool fits = static_cast<size_t>(tensor.dim()) == strides.size();
    for (size_t i = 0; fits && i < strides.size(); ++i)
      fits = tensor.stride(static_cast<int64_t>(i)) == strides[i].value_or(tensor.stride(static_cast<int64_t>(i)));
    if (!fits)
      throw tenon::Error("a tensor between the compiled graphs has other strides than when they were compiled");
    return tensor;
  }

  bool matches(const at::Tensor& tensor, bool compares_all) const {
    if (tensor.scalar_type() != dtype || static_cast<size_t>(tensor.dim()) != order.size()) return false;
    int64_t elements = 1;
    for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
      const int64_t size = tensor.size(*dimension);
      if ((compares_all || size != 1) && tensor.stride(*dimension) != elements) return false;
      elements *= size;
    }
    return true;
  }

  std::vector<int64_t> strides_for(at::IntArrayRef sizes) const {
    std::vector<int64_t> made(order.size());
    int64_t elements = 1;
    for (auto dimension = order.rbegin(); dimension != order.rend(); ++dimension) {
      made[*dimension] = elements;
      elements *= sizes[*dimension];
    }
    return made;
  }
};

// An argument of a compiled library, or what one returns.
struct Place {
  enum class Kind { weight, constant, input, argument, value, gradient };
  Kind kind;
  size_t index;
  Layout layout;
};

struct Output {
  bool is_buffer;
  size_t index;  // of the buffer among the weights, or of the output
  size_t value;  // among what the library returns
};

// The sizes of a dimension of an input for which the machine code is right.
struct SizeRange {
  size_t input, dimension;
  int64_t min, max;
};

c10::ScalarType to_dtype(const std::string& name) {
  for (const c10::ScalarType dtype : {at::kFloat, at::kDouble, at::kBFloat16, at::kHalf, at::kLong, at::kInt,
                                      at::kShort, at::kChar, at::kByte, at::kBool})
    if (name == c10::getDtypeNames(dtype).first) return dtype;
  throw std::invalid_argument("the dtype " + shorten(Json(name)) + " is not supported");
}

Layout read_layout(const Json& described) {
  Layout layout{to_dtype(text(field(described, "dtype"))), {}};
  for (const Json& dimension : elements(field(described, "order"))) layout.order.push_back(integer(dimension));
  std::vector<int64_t> sorted = layout.order;
  std::ranges::sort(sorted);
  for (size_t i = 0; i < sorted.size(); ++i)
    if (sorted[i] != static_cast<int64_t>(i))
      throw std::invalid_argument("order is " + shorten(field(described, "order")) + "; expected each dimension once");
  return layout;
}

Layout read_strides(const Json& described) {
  Layout layout{to_dtype(text(field(described, "dtype"))), {}};
  for (const Json& stride : elements(field(described, "strides")))
    layout.strides.push_back(stride.is_null() ? std::nullopt : std::optional(integer(stride)));
  return layout;
}

size_t read_index(const Json& value, size_t count, const char* what) {
  const int64_t index = integer(value);
  if (index < 0 || static_cast<size_t>(index) >= count)
    throw std::invalid_argument(std::string(what) + " " + std::to_string(index) + " does not exist; there are " +
                                std::to_string(count));
  return static_cast<size_t>(index);
}

size_t find_weight(const CompiledNames& names, const std::string& name) {
  const auto found = names.weights.find(name);
  if (found == names.weights.end()) throw std::invalid_argument("there is no weight " + shorten(Json(name)));
  return found->second;
}

Place read_argument(const Json& described, const CompiledNames& names) {
  const Layout layout = read_layout(described);
  if (described.contains("weight")) return {Place::Kind::weight, find_weight(names, text(described["weight"])), layout};
  if (described.contains("input"))
    return {Place::Kind::input, read_index(described["input"], SIZE_MAX, "input"), layout};
  const std::string& name = text(field(described, "constant"));
  const auto found = std::ranges::find(names.constants, name);
  if (found == names.constants.end()) throw std::invalid_argument("there is no constant " + shorten(Json(name)));
  return {Place::Kind::constant, static_cast<size_t>(found - names.constants.begin()), layout};
}

// A library of the archive, loaded. The code stays loaded until the process ends, as that of a plugin.
class Library {
 public:
  Library(Archive& archive, const std::string& name) {
    const std::string prefix = kLibraries + name + "/";
    const PrivateFolder folder;
    std::string library;
    for (const std::string& record : archive.list(prefix)) {
      const std::string file = record.substr(prefix.size());
      // The .json has the calls of operators that have no function in LibTorch's C interface.
      if (!file.ends_with(".so") && !file.ends_with(".json")) continue;
      if (file.find('/') != std::string::npos) archive.refuse(record, "is in a folder; expected a file");
      const std::string written = folder.write(file, archive.read(record));
      if (file.ends_with(".so")) library = written;
    }
    if (library.empty()) archive.refuse(prefix, "has no shared library");
    try {
      runner_ = std::make_unique<torch::inductor::AOTIModelContainerRunnerCpu>(library);
    } catch (const c10::Error& error) {
      throw CompiledModel::Unusable{std::string("the library ") + name +
                                    " cannot be loaded: " + error.what_without_backtrace()};
    } catch (const std::exception& error) {
      throw CompiledModel::Unusable{"the library " + name + " cannot be loaded: " + error.what()};
    }
  }

  // Without autograd and autocast: the machine code has the casts that it needs.
  std::vector<at::Tensor> run(const std::vector<at::Tensor>& arguments) const {
    const at::NoGradGuard no_grad;
    const at::AutoDispatchBelowADInplaceOrView below_autograd;
    const c10::impl::ExcludeDispatchKeyGuard no_autocast(c10::autocast_dispatch_keyset);
    return runner_->run(arguments);
  }

 private:
  std::unique_ptr<torch::inductor::AOTIModelContainerRunnerCpu> runner_;
};

// Whether this processor can run the code, without reading LibTorch's environment variables.
bool has_instructions(const std::string& level) {
#if defined(__x86_64__)
  const bool has_avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
                        __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2");
  const bool has_avx512 = __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
                          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
                          __builtin_cpu_supports("avx512vl");
  return (level == "avx2" && has_avx2) || (level == "avx512" && has_avx2 && has_avx512);
#else
  return false;
#endif
}

}  // namespace

// The libraries of one graph.
class CompiledGraph {
 public:
  CompiledGraph(Archive& archive, const std::string& name, const Json& described, const CompiledNames& names) {
    for (const Json& each : elements(field(described, "inputs"))) arguments_.push_back(read_argument(each, names));
    for (const Json& each : elements(field(described, "outputs"))) {
      const bool is_buffer = each.contains("buffer");
      outputs_.push_back(
          {is_buffer,
           is_buffer ? find_weight(names, text(each["buffer"])) : read_index(field(each, "output"), SIZE_MAX, "output"),
           read_index(field(each, "value"), SIZE_MAX, "value")});
    }
    for (const Json& each : elements(field(described, "sizes")))
      sizes_.push_back({read_index(field(each, "input"), SIZE_MAX, "input"),
                        read_index(field(each, "dimension"), SIZE_MAX, "dimension"), integer(field(each, "min")),
                        field(each, "max").is_null() ? INT64_MAX : integer(each["max"])});
    for (const Output& output : outputs_) result_count_ = std::max(result_count_, output.value + 1);
    if (described.contains("backward")) read_backward(described["backward"]);
    forward_ = std::make_unique<Library>(archive, name + "_forward");
    if (has_backward()) backward_ = std::make_unique<Library>(archive, name + "_backward");
  }

  bool has_backward() const { return !gradients_.empty(); }

  // The index of a weight that is stored in another way than the code expects; nothing if all fit.
  std::optional<size_t> find_other_layout(const std::vector<at::Tensor>& weights) const {
    for (const Place& argument : arguments_)
      if (argument.kind == Place::Kind::weight && !argument.layout.has_elements_of(weights.at(argument.index)))
        return argument.index;
    return std::nullopt;
  }

  // A size of an input that the code does not take, with what it takes; nothing if it takes all.
  std::optional<std::string> find_other_size(const std::vector<at::Tensor>& inputs) const {
    for (const SizeRange& range : sizes_) {
      const int64_t size = inputs.at(range.input).size(static_cast<int64_t>(range.dimension));
      if (size < range.min || size > range.max)
        return "size " + std::to_string(range.dimension) + " of input " + std::to_string(range.input) + " is " +
               std::to_string(size) + ", and they take " + std::to_string(range.min) +
               (range.max == INT64_MAX ? " or more" : " to " + std::to_string(range.max));
    }
    return std::nullopt;
  }

  std::vector<at::Tensor> run(const std::vector<at::Tensor>& weights, const std::vector<at::Tensor>& constants,
                              const std::vector<at::Tensor>& inputs) const {
    std::vector<at::Tensor> arguments;
    arguments.reserve(arguments_.size());
    for (const Place& argument : arguments_) {
      const std::vector<at::Tensor>& tensors = argument.kind == Place::Kind::weight     ? weights
                                               : argument.kind == Place::Kind::constant ? constants
                                                                                        : inputs;
      arguments.push_back(tensors.at(argument.index));
    }
    std::vector<at::Tensor> values = has_backward() && at::GradMode::is_enabled()
                                         ? Function::apply(this, at::TensorList(arguments))
                                         : call_forward(arguments);
    std::vector<at::Tensor> outputs;
    const at::NoGradGuard no_grad;
    for (const Output& output : outputs_) {
      if (output.is_buffer)
        weights.at(output.index).copy_(values.at(output.value));
      else
        outputs.push_back(std::move(values.at(output.value)));
    }
    return outputs;
  }

 private:
  std::vector<at::Tensor> call_forward(at::TensorList given) const {
    const at::NoGradGuard no_grad;
    std::vector<at::Tensor> arguments;
    arguments.reserve(given.size());
    for (size_t i = 0; i < given.size(); ++i) arguments.push_back(arguments_[i].layout.apply(given[i]));
    return forward_->run(arguments);
  }

  // Both libraries as one function of autograd. Its inputs are the arguments of forward, its outputs the values for the
  // user and for buffers, which are the first that forward returns.
  struct Function : torch::autograd::Function<Function> {
    static variable_list forward(AutogradContext* context, const CompiledGraph* graph, at::TensorList arguments) {
      std::vector<at::Tensor> values = graph->call_forward(arguments);
      variable_list kept;
      for (const Place& place : graph->kept_)
        if (place.kind != Place::Kind::gradient)
          kept.push_back(place.kind == Place::Kind::argument ? arguments.at(place.index) : values.at(place.index));
      context->save_for_backward(kept);
      context->saved_data["graph"] = reinterpret_cast<int64_t>(graph);  // outlives every backward
      values.resize(graph->result_count_);
      variable_list constant;
      for (size_t i = 0; i < values.size(); ++i)
        if (!graph->is_differentiable(i)) constant.push_back(values[i]);
      context->mark_non_differentiable(constant);
      return values;
    }

    static variable_list backward(AutogradContext* context, variable_list gradients) {
      const at::NoGradGuard no_grad;
      const auto* const graph = reinterpret_cast<const CompiledGraph*>(context->saved_data["graph"].toInt());
      const variable_list kept = context->get_saved_variables();
      std::vector<at::Tensor> arguments;
      auto next = kept.begin();
      for (const Place& place : graph->kept_)
        arguments.push_back(
            place.layout.apply(place.kind == Place::Kind::gradient ? gradients.at(place.index) : *next++));
      const std::vector<at::Tensor> computed = graph->backward_->run(arguments);
      variable_list result(1);  // of the pointer to the graph
      for (const std::optional<size_t>& gradient : graph->gradients_)
        result.push_back(gradient ? computed.at(*gradient) : at::Tensor());
      return result;
    }
  };

  bool is_differentiable(size_t value) const {
    return std::ranges::any_of(
        kept_, [&](const Place& place) { return place.kind == Place::Kind::gradient && place.index == value; });
  }

  void read_backward(const Json& described) {
    for (const Json& each : elements(field(described, "inputs"))) {
      const Layout layout = each.contains("strides") ? read_strides(each) : read_layout(each);
      if (each.contains("input"))
        kept_.push_back({Place::Kind::argument, read_index(each["input"], arguments_.size(), "input"), layout});
      else if (each.contains("value"))
        kept_.push_back({Place::Kind::value, read_index(each["value"], SIZE_MAX, "value"), layout});
      else
        kept_.push_back({Place::Kind::gradient, read_index(field(each, "gradient"), SIZE_MAX, "gradient"), layout});
    }
    for (const Json& gradient : elements(field(described, "gradients")))
      gradients_.push_back(gradient.is_null() ? std::nullopt
                                              : std::optional(read_index(gradient, SIZE_MAX, "gradient")));
    if (gradients_.size() != arguments_.size())
      throw std::invalid_argument("backward has " + std::to_string(gradients_.size()) +
                                  " gradients; expected one for " + "each of the " + std::to_string(arguments_.size()) +
                                  " arguments");
  }

  std::vector<Place> arguments_;  // of forward
  std::vector<Output> outputs_;
  std::vector<SizeRange> sizes_;
  size_t result_count_ = 0;                       // of the values that forward returns, those for outputs_
  std::vector<Place> kept_;                       // arguments of backward
  std::vector<std::optional<size_t>> gradients_;  // of each argument: the place among what backward returns
  std::unique_ptr<Library> forward_, backward_;
};

CompiledModel::CompiledModel(Archive& archive, const CompiledNames& training, const CompiledNames& evaluation) {
  if (archive.list(kRecord).empty())
    throw tenon::DataError(archive.path() +
                           ": has no compiled graphs; export the model with --compile, or remove compiled = true");
  const Json record = archive.read_json(kRecord);
  within(archive, kRecord, [&] {
    const int64_t version = integer(field(record, "version"));
    if (version != kVersion)
      throw Unusable{"the version of " + std::string(kRecord) + " is " + std::to_string(version) + "; expected " +
                     std::to_string(kVersion)};
    const std::string &torch = text(field(record, "torch")), &level = text(field(record, "instructions"));
    const std::string here = std::string(TORCH_VERSION).substr(0, std::string_view(TORCH_VERSION).find('+'));
    if (torch != here) throw Unusable{"compiled with PyTorch " + torch + "; this host has LibTorch " + here};
    if (!has_instructions(level)) throw Unusable{"compiled for " + level + ", which this processor does not have"};
    is_bf16_ = text(field(record, "precision")) == "bf16";
    const Json& graphs = field(record, "graphs");
    training_ = std::make_unique<CompiledGraph>(archive, "train", field(graphs, "train"), training);
    evaluation_ = std::make_unique<CompiledGraph>(archive, "eval", field(graphs, "eval"), evaluation);
  });
}

CompiledModel::~CompiledModel() = default;

std::optional<std::string> CompiledModel::find_obstacle(bool is_training, const std::vector<at::Tensor>& weights,
                                                        const std::vector<at::Tensor>& inputs) const {
  const CompiledGraph& graph = is_training ? *training_ : *evaluation_;
  for (const at::Tensor& input : inputs)
    if (!input.is_cpu()) return "they are for the CPU";
  const bool runs_in_bf16 = at::autocast::get_autocast_dtype(at::kCPU) == at::kBFloat16;
  if (at::autocast::is_autocast_enabled(at::kCPU) ? !is_bf16_ || !runs_in_bf16 : is_bf16_)
    return std::string("they were compiled for ") + (is_bf16_ ? "bf16" : "fp32") +
           ", and train.precision is another; export the model with another --compile";
  if (at::GradMode::is_enabled()) {
    const auto requires_grad = [](const at::Tensor& tensor) { return tensor.requires_grad(); };
    if (std::ranges::any_of(inputs, requires_grad)) return "an input requires a gradient";
    if (!graph.has_backward() && std::ranges::any_of(weights, requires_grad))
      return "the graph of evaluation has no backward";
  }
  if (auto other = graph.find_other_size(inputs)) return other;
  if (const auto other = graph.find_other_layout(weights))
    return "weight " + std::to_string(*other) + " has another dtype or memory format than at the export; " +
           "see train.memory_format";
  return std::nullopt;
}

std::vector<at::Tensor> CompiledModel::run(bool is_training, const std::vector<at::Tensor>& weights,
                                           const std::vector<at::Tensor>& constants,
                                           const std::vector<at::Tensor>& inputs) const {
  return (is_training ? *training_ : *evaluation_).run(weights, constants, inputs);
}

}  // namespace exported

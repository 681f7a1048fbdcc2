#include "framework/components/kinds/model.h"

#include <ATen/record_function.h>
#include <tenon/draft/memory_format.h>
#include <tenon/frozen_parameters.h>
#include <tenon/tied_weights.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <exception>
#include <map>
#include <memory>
#include <set>

#include "framework/components/tensors/host_extensions.h"
#include "framework/components/tensors/operator_inputs.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"

namespace tenon::components {

using support::Error;

namespace {

// Fan-in and fan-out as in torch.nn.init._calculate_fan_in_and_fan_out. The first two dimensions are out and in, the
// others are the receptive field.
std::pair<double, double> fans(const at::Tensor& tensor, const std::string& name) {
  if (tensor.dim() < 2) throw std::invalid_argument(name + ": this initialiser needs two or more dimensions");
  const double field = tensor.dim() > 2 ? static_cast<double>(tensor[0][0].numel()) : 1.0;
  return {static_cast<double>(tensor.size(1)) * field, static_cast<double>(tensor.size(0)) * field};
}

void initialise(at::Tensor& tensor, const tenon_declaration& declaration, const std::string& name) {
  const at::NoGradGuard no_grad;
  const auto kaiming = [&] {
    return std::sqrt(2.0 / (1.0 + declaration.a * declaration.a)) / std::sqrt(fans(tensor, name).first);
  };
  const auto xavier = [&] {
    const auto [fan_in, fan_out] = fans(tensor, name);
    return (declaration.a == 0 ? 1.0 : declaration.a) * std::sqrt(2.0 / (fan_in + fan_out));
  };
  const auto uniform = [&](double deviation) {
    tensor.uniform_(-std::sqrt(3.0) * deviation, std::sqrt(3.0) * deviation);
  };
  switch (declaration.init) {
    case TENON_INIT_CONSTANT: tensor.fill_(declaration.a); break;
    case TENON_INIT_UNIFORM: tensor.uniform_(declaration.a, declaration.b); break;
    case TENON_INIT_NORMAL: tensor.normal_(declaration.a, declaration.b); break;
    case TENON_INIT_KAIMING_UNIFORM: uniform(kaiming()); break;
    case TENON_INIT_KAIMING_NORMAL: tensor.normal_(0, kaiming()); break;
    case TENON_INIT_XAVIER_UNIFORM: uniform(xavier()); break;
    case TENON_INIT_XAVIER_NORMAL: tensor.normal_(0, xavier()); break;
    default:
      throw std::invalid_argument(name + ": the initialiser " + std::to_string(declaration.init) + " does not exist");
  }
}

// A view of a model's tensor counts as the tensor, unless others share its memory.
const NamedTensor* find_named(const std::vector<NamedTensor>& model, const at::Tensor& tensor) {
  const NamedTensor* owner = nullptr;
  int owners = 0;
  for (const NamedTensor& named : model) {
    if (named.tensor.is_same(tensor)) return &named;
    if (!tensor.has_storage() || !named.tensor.has_storage() || !named.tensor.is_alias_of(tensor)) continue;
    owner = &named;
    ++owners;
  }
  return owners == 1 ? owner : nullptr;
}

// Follows the outermost operators: a convolution, not the operators inside it.
class OperatorSearch {
 public:
  explicit OperatorSearch(const std::vector<NamedTensor>& model) : model_(model) {}

  void begin(const at::RecordFunction& function) {
    if (depth_++ > 0) return;
    current_ = {};
    std::string tensors;
    const auto add = [&](const at::Tensor& tensor) {
      const NamedTensor* const named = find_named(model_, tensor);
      if (named && current_.module.empty()) current_.module = module_of(named->name);
      tensors += (tensors.empty() ? "" : ", ") + (named ? named->name + ": " : std::string()) + describe(tensor);
    };
    for (const c10::IValue& input : function.inputs()) visit_tensors(input, add);
    current_.call = std::string(function.name()) + "(" + tensors + ")";
  }

  void end() {
    if (--depth_ > 0) return;
    if (std::uncaught_exceptions() > exceptions_before_)
      failed_ = current_.call + (current_.module.empty() && !last_module_.empty() ? ", after " + last_module_ : "");
    else if (!current_.module.empty())
      last_module_ = current_.module;
  }

  const std::string& failed() const { return failed_; }

 private:
  struct Operator {
    std::string call;
    std::string module;  // of its first tensor that is the model's; else ""
  };

  const std::vector<NamedTensor>& model_;
  const int exceptions_before_ = std::uncaught_exceptions();
  int depth_ = 0;
  Operator current_;
  std::string last_module_, failed_;
};

thread_local OperatorSearch* current_search = nullptr;  // LibTorch's callbacks have no state

// Calls `forward`, which failed before and has to throw again, and describes the operator that throws. Tensors of the
// model have their names: "aten::linear(float32 [16, 8], head.weight: float32 [2, 9], head.bias: float32 [2])". An
// operator without such a tensor also names the module before it: "aten::add(float32 [16, 8], float32 [16, 9]), after
// encoder.1". "" if no operator throws, for instance because the model itself does.
std::string find_failed_operator(const std::vector<NamedTensor>& model, const std::function<void()>& forward) {
  OperatorSearch search(model);
  current_search = &search;
  const at::CallbackHandle callback =
      at::addThreadLocalCallback(at::RecordFunctionCallback(
                                     [](const at::RecordFunction& function) -> std::unique_ptr<at::ObserverContext> {
                                       current_search->begin(function);
                                       return nullptr;
                                     },
                                     [](const at::RecordFunction&, at::ObserverContext*) { current_search->end(); })
                                     .needsInputs(true)
                                     .scopes({at::RecordScope::FUNCTION}));
  bool has_failed = false;
  try {
    forward();
  } catch (const std::exception&) {
    has_failed = true;
  }
  at::removeCallback(callback);
  current_search = nullptr;
  return has_failed ? search.failed() : "";
}

}  // namespace

std::string module_of(const std::string& tensor) {
  const size_t dot = tensor.rfind('.');
  return dot == std::string::npos ? "" : tensor.substr(0, dot);
}

// The target of tenon_builder.context during build().
struct Model::Builder {
  std::vector<NamedTensor>& tensors;
  c10::Device device;
  AfterDeclaration after_declaration = {};
  std::set<std::string> names = {};

  tenon_status add(std::string name, at::Tensor tensor, uint32_t flags, uint64_t* index) {
    if (name.empty() || !names.insert(name).second)
      return fail(TENON_INVALID_ARGUMENT, "the tensor name \"" + name + "\" is empty or used twice");
    if ((flags & ~uint32_t{TENON_TRAINABLE}) != 0 && detail::call_observer)
      detail::call_observer->on_violation(
          fmt::format("declares {} with the flags {}, which include unknown ones", name, flags));
    const bool trainable = (flags & TENON_TRAINABLE) != 0;
    if (trainable && !at::isFloatingType(tensor.scalar_type()))
      return fail(TENON_INVALID_ARGUMENT,
                  name + " is " + describe(tensor) + " and cannot be trained; expected a floating-point dtype");
    if (trainable) tensor.requires_grad_(true);
    if (index) *index = tensors.size();
    tensors.push_back({std::move(name), std::move(tensor), trainable});
    return TENON_OK;
  }

  static tenon_status declare(const tenon_builder* builder, const tenon_declaration* declaration, uint64_t* index) {
    if (!declaration || declaration->size < TENON_SIZE_TO(tenon_declaration, b))
      return fail(TENON_INVALID_ARGUMENT, "declare: the declaration is null or cut short");
    const std::string name = to_string(declaration->name);
    if (const auto fault = find_shape_fault(declaration->ndim, declaration->shape))
      return fail(TENON_INVALID_ARGUMENT, "declare " + name + ": the tensor " + *fault);
    return catch_errors("declare " + name, TENON_INVALID_ARGUMENT, [&] {
      const at::IntArrayRef shape(declaration->shape, declaration->ndim);
      Builder& state = *static_cast<Builder*>(builder->context);
      at::Tensor tensor = at::empty(shape, at::TensorOptions(state.device).dtype(to_scalar_type(declaration->dtype)));
      initialise(tensor, *declaration, name);
      if (state.after_declaration) state.after_declaration(name, tensor);
      return state.add(name, std::move(tensor), declaration->flags, index);
    });
  }

  static tenon_status adopt(const tenon_builder* builder, tenon_string name, tenon_tensor* tensor, uint32_t flags,
                            uint64_t* index) {
    if (!tensor) return fail(TENON_INVALID_ARGUMENT, "adopt " + to_string(name) + ": the tensor is null");
    return static_cast<Builder*>(builder->context)->add(to_string(name), to_tensor(tensor), flags, index);
  }
};

Model::Model(const Component& component, const config::ComponentPlan& plan)
    : instance_(component, plan),
      ports_(instance_.read_ports()),
      is_capturable_(instance_.read_is_capturable()),
      needs_contiguous_(instance_.read_flag(TENON_MEMORY_FORMAT, &tenon_memory_format::needs_contiguous,
                                            "memory_format.needs_contiguous")) {
  if (ports_.inputs.empty() || ports_.outputs.empty())
    throw_plugin_error(component, "ports", "returns {} inputs and {} outputs; expected at least one of each",
                       ports_.inputs.size(), ports_.outputs.size());
  read_decoding();
  instance_.read_extension_list(TENON_RESULTS, &tenon_results::results, "results.results",
                                "results.results, reading its result",
                                [&](const auto* results, uint64_t count) { read_results(results, count); });
}

void Model::build(const AfterDeclaration& after_declaration) {
  Builder state{tensors_, at::kCPU, after_declaration};
  build_with(state);
}

void Model::build_without_memory() {
  Builder state{tensors_, at::kMeta};
  build_with(state);
}

void Model::build_with(Builder& state) {
  const tenon_builder builder{sizeof(tenon_builder), &state, Builder::declare, Builder::adopt};
  instance_.call([&](const tenon_model& table) { return table.build(instance_.self(), &builder); }, "build");
  for (const NamedTensor& named : tensors_) {
    handles_.push_back(to_handle(named.tensor));
    if (!named.trainable) buffers_.push_back(named.tensor);
  }
  instance_.read_extension_list(TENON_FROZEN_PARAMETERS, &tenon_frozen_parameters::names, "frozen_parameters.names",
                                "frozen_parameters.names, reading its result",
                                [&](const auto* list, uint64_t count) { read_frozen_parameters(list, count); });
  instance_.read_extension_list(TENON_TIED_WEIGHTS, &tenon_tied_weights::names, "tied_weights.names",
                                "tied_weights.names, reading its result",
                                [&](const auto* list, uint64_t count) { read_tied_tensors(list, count); });
}

void Model::require_name_count(const char* function, const void* list, uint64_t count) const {
  if (count > tensors_.size() || (count > 0 && !list))
    throw_plugin_error(component(), function,
                       "returns a list of {} names{}; expected at most one for each of the {} tensors", count,
                       list ? "" : ", which is null", tensors_.size());
}

void Model::read_frozen_parameters(const tenon_string* list, uint64_t count) {
  constexpr const char* kFunction = "frozen_parameters.names";
  require_name_count(kFunction, list, count);
  std::map<std::string, NamedTensor*> tensors;
  for (NamedTensor& named : tensors_) tensors.emplace(named.name, &named);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string name = to_string(list[i]);
    const auto found = tensors.find(name);
    if (found == tensors.end() || found->second->trainable)
      throw_plugin_error(component(), kFunction, "lists \"{}\", which build() {}", name,
                         found == tensors.end() ? "did not declare" : "declared as trainable");
    found->second->is_frozen_parameter = true;
  }
}

void Model::read_tied_tensors(const tenon_tied_weight* list, uint64_t count) {
  constexpr const char* kFunction = "tied_weights.names";
  require_name_count(kFunction, list, count);
  std::set<std::string> names;
  for (const NamedTensor& named : tensors_) names.insert(named.name);
  for (uint64_t i = 0; i < count; ++i) {
    std::string name = to_string(list[i].name);
    const auto tensor = std::ranges::find(tensors_, to_string(list[i].tensor), &NamedTensor::name);
    if (tensor == tensors_.end())
      throw_plugin_error(component(), kFunction, "\"{}\" is another name of \"{}\", which build() did not declare",
                         name, to_string(list[i].tensor));
    if (name.empty() || !names.insert(name).second)
      throw_plugin_error(component(), kFunction, "the name \"{}\" is empty or used twice", name);
    tied_tensors_.push_back({std::move(name), tensor->tensor, tensor->trainable, tensor->is_frozen_parameter});
  }
}

std::vector<at::Tensor> Model::forward(const StepContext& context, const std::vector<at::Tensor>& inputs) const {
  std::vector<at::Tensor> outputs;
  try {
    outputs = forward_unchecked(context, inputs, handles_);
  } catch (const Error& error) {
    const std::string operator_text = find_failed_operator(context, inputs, error);
    if (operator_text.empty()) throw;
    throw Error(error.kind(), error.what() + ("; in " + operator_text));
  }
  check_outputs(context, inputs, outputs);
  return outputs;
}

std::vector<at::Tensor> Model::forward_unchecked(const StepContext& context, const std::vector<at::Tensor>& inputs,
                                                 const std::vector<tenon_tensor*>& tensors) const {
  Frame frame(context, tensors);
  frame.set_buffers(buffers_);
  const std::vector<tenon_tensor*> input_handles = to_handles(inputs);
  std::vector<tenon_tensor*> output_handles(ports_.outputs.size(), nullptr);
  instance_.call(
      [&](const tenon_model& table) {
        return table.forward(instance_.self(), frame.get(), input_handles.data(), input_handles.size(),
                             output_handles.data(), output_handles.size());
      },
      "forward", context.at());
  return to_tensors(output_handles);
}

// Repeats the forward. Not with several ranks, which would have to take part, and not after an error of CUDA, which any
// later operator may report. "" if the operator is unknown or the second error is another one.
std::string Model::find_failed_operator(const StepContext& context, const std::vector<at::Tensor>& inputs,
                                        const Error& error) const {
  const std::string_view text = error.what();
  if (context.world_size > 1 || context.forward_observer || text.find("CUDA") != text.npos) return "";
  bool is_same = false;
  const std::string operator_text = components::find_failed_operator(tensors_, [&] {
    try {
      forward_unchecked(context, inputs, handles_);
    } catch (const Error& again) {
      is_same = again.what() == text;
      throw;
    }
  });
  return is_same ? operator_text : "";
}

// Checked on every call: a wrong shape that broadcasts would silently train the wrong thing.
void Model::check_outputs(const StepContext& context, const std::vector<at::Tensor>& inputs,
                          const std::vector<at::Tensor>& outputs) const {
  for (size_t i = 0; i < outputs.size(); ++i)
    if (!outputs[i].defined())
      throw_plugin_error(component(), "forward", "returned no {} (null)", ports_.outputs[i].name);
  Extents extents;
  for (size_t i = 0; i < inputs.size(); ++i) find_mismatch(inputs[i], ports_.inputs[i], extents);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (const auto reason = find_mismatch(outputs[i], ports_.outputs[i], extents))
      throw_plugin_error(component(), fmt::format("forward ({})", context.at()()), "returned {} as {}: {}",
                         ports_.outputs[i].describe(), describe(outputs[i]), *reason);
}

}  // namespace tenon::components

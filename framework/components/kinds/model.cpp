#include "framework/components/kinds/model.h"

#include <tenon/frozen_parameters.h>
#include <tenon/tied_weights.h>
#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "framework/components/kinds/failed_operator.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::components {

using support::Error;
using support::ErrorKind;

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
    try {
      const at::IntArrayRef shape(declaration->shape, declaration->ndim);
      Builder& state = *static_cast<Builder*>(builder->context);
      at::Tensor tensor = at::empty(shape, at::TensorOptions(state.device).dtype(to_scalar_type(declaration->dtype)));
      initialise(tensor, *declaration, name);
      if (state.after_declaration) state.after_declaration(name, tensor);
      return state.add(name, std::move(tensor), declaration->flags, index);
    } catch (const c10::Error& error) {
      return fail(TENON_INVALID_ARGUMENT, "declare " + name + ": " + error.what_without_backtrace());
    } catch (const std::exception& error) {
      return fail(TENON_INVALID_ARGUMENT, "declare " + name + ": " + error.what());
    }
  }

  static tenon_status adopt(const tenon_builder* builder, tenon_string name, tenon_tensor* tensor, uint32_t flags,
                            uint64_t* index) {
    if (!tensor) return fail(TENON_INVALID_ARGUMENT, "adopt " + to_string(name) + ": the tensor is null");
    return static_cast<Builder*>(builder->context)->add(to_string(name), to_tensor(tensor), flags, index);
  }
};

Model::Model(const Component& component, const config::ComponentPlan& plan)
    : instance_(component, plan), ports_(instance_.read_ports()), is_capturable_(instance_.read_is_capturable()) {
  if (ports_.inputs.empty() || ports_.outputs.empty())
    throw Error(ErrorKind::plugin, component.describe() + ", ports: returns " + std::to_string(ports_.inputs.size()) +
                                       " inputs and " + std::to_string(ports_.outputs.size()) +
                                       " outputs; expected at least one of each");
  read_decoding();
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
  read_frozen_parameters();
  read_tied_tensors();
}

void Model::read_frozen_parameters() {
  const auto* const extension = instance_.extension<tenon_frozen_parameters>(TENON_FROZEN_PARAMETERS);
  if (!extension || !extension->names) return;
  const tenon_string* list = nullptr;
  uint64_t count = 0;
  instance_.call([&](const tenon_model&) { return extension->names(instance_.self(), &list, &count); },
                 "frozen_parameters.names");
  const ResultScope scope(component(), "frozen_parameters.names, reading its result");
  const auto refuse = [this](const std::string& message) {
    throw Error(ErrorKind::plugin, component().describe() + ", frozen_parameters.names: " + message);
  };
  if (count > tensors_.size() || (count > 0 && !list))
    refuse("returns a list of " + std::to_string(count) + " names" + (list ? "" : ", which is null") +
           "; expected at most one for each of the " + std::to_string(tensors_.size()) + " tensors");
  std::map<std::string, NamedTensor*> tensors;
  for (NamedTensor& named : tensors_) tensors.emplace(named.name, &named);
  for (uint64_t i = 0; i < count; ++i) {
    const std::string name = to_string(list[i]);
    const auto found = tensors.find(name);
    if (found == tensors.end()) refuse("lists \"" + name + "\", which build() did not declare");
    if (found->second->trainable) refuse("lists \"" + name + "\", which build() declared as trainable");
    found->second->is_frozen_parameter = true;
  }
}

void Model::read_tied_tensors() {
  const auto* const extension = instance_.extension<tenon_tied_weights>(TENON_TIED_WEIGHTS);
  if (!extension || !extension->names) return;
  const tenon_tied_weight* list = nullptr;
  uint64_t count = 0;
  instance_.call([&](const tenon_model&) { return extension->names(instance_.self(), &list, &count); },
                 "tied_weights.names");
  const ResultScope scope(component(), "tied_weights.names, reading its result");
  const auto refuse = [this](const std::string& message) {
    throw Error(ErrorKind::plugin, component().describe() + ", tied_weights.names: " + message);
  };
  if (count > tensors_.size() || (count > 0 && !list))
    refuse("returns a list of " + std::to_string(count) + " names" + (list ? "" : ", which is null") +
           "; expected at most one for each of the " + std::to_string(tensors_.size()) + " tensors");
  std::set<std::string> names;
  for (const NamedTensor& named : tensors_) names.insert(named.name);
  for (uint64_t i = 0; i < count; ++i) {
    std::string name = to_string(list[i].name);
    const auto tensor = std::ranges::find(tensors_, to_string(list[i].tensor), &NamedTensor::name);
    if (tensor == tensors_.end())
      refuse("\"" + name + "\" is another name of \"" + to_string(list[i].tensor) +
             "\", which build() did not declare");
    if (name.empty() || !names.insert(name).second) refuse("the name \"" + name + "\" is empty or used twice");
    tied_tensors_.push_back({std::move(name), tensor->tensor, tensor->trainable, tensor->is_frozen_parameter});
  }
}

std::vector<at::Tensor> Model::forward(const StepContext& context, const std::vector<at::Tensor>& inputs) const {
  std::vector<at::Tensor> outputs;
  try {
    outputs = call_forward(context, inputs);
  } catch (const Error& error) {
    const std::string operator_text = find_failed_operator(context, inputs, error);
    if (operator_text.empty()) throw;
    throw Error(error.kind(), error.what() + ("; in " + operator_text));
  }
  check_outputs(context, inputs, outputs);
  return outputs;
}

std::vector<at::Tensor> Model::call_forward(const StepContext& context, const std::vector<at::Tensor>& inputs) const {
  Frame frame(context, handles_);
  frame.set_buffers(buffers_);
  const std::vector<tenon_tensor*> input_handles = to_handles(inputs);
  std::vector<tenon_tensor*> output_handles(ports_.outputs.size(), nullptr);
  instance_.call(
      [&](const tenon_model& table) {
        return table.forward(instance_.self(), frame.get(), input_handles.data(), input_handles.size(),
                             output_handles.data(), output_handles.size());
      },
      "forward", context.at());
  std::vector<at::Tensor> outputs;
  outputs.reserve(output_handles.size());
  for (size_t i = 0; i < output_handles.size(); ++i) {
    if (!output_handles[i])
      throw Error(ErrorKind::plugin,
                  component().describe() + ", forward: returned no " + ports_.outputs[i].name + " (null)");
    outputs.push_back(to_tensor(output_handles[i]));
  }
  return outputs;
}

// Repeats the forward. Not with several ranks, which would have to take part, and not after an error of CUDA, which any
// later operator may report. "" if the operator is unknown or the second error is another one.
std::string Model::find_failed_operator(const StepContext& context, const std::vector<at::Tensor>& inputs,
                                        const Error& error) const {
  const std::string_view text = error.what();
  if (context.world_size > 1 || context.observer || text.find("CUDA") != text.npos) return "";
  bool is_same = false;
  const std::string operator_text = components::find_failed_operator(tensors_, [&] {
    try {
      call_forward(context, inputs);
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
  Extents extents;
  for (size_t i = 0; i < inputs.size(); ++i) find_mismatch(inputs[i], ports_.inputs[i], extents);
  for (size_t i = 0; i < outputs.size(); ++i)
    if (const auto reason = find_mismatch(outputs[i], ports_.outputs[i], extents))
      throw Error(ErrorKind::plugin, component().describe() + ", forward (" + context.at()() + "): returned " +
                                         ports_.outputs[i].describe() + " as " + describe(outputs[i]) + ": " + *reason);
}

}  // namespace tenon::components

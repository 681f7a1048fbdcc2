// Native plugins: models and losses that use the LibTorch API. Requires C++20. A plugin that includes this file loads
// only in a host with the same minor version of LibTorch.
//
//   class Net final : public torch::nn::Module {
//    public:
//     static std::vector<tenon::Param> schema();      // optional: the parameters
//     explicit Net(const tenon::Params& params);      // or Net()
//     std::vector<tenon::Port> ports() const;         // inputs and outputs, in forward's order
//     torch::Tensor forward(torch::Tensor image);     // or several inputs; or a std::tuple or std::vector of outputs
//   };
//   TENON_PLUGIN("net", "0.1.0", "MIT", "A network.", tenon::torch_model<Net>("net", "one line"))
//
// Include the modules that you use as well, such as <torch/nn/modules/conv.h>. <torch/torch.h> includes all of them,
// but takes 10 s longer to compile.
// Parameters and buffers are registered under their PyTorch names. A loss is a class with ports() and forward. forward
// returns a scalar mean over the batch, or a tenon::TorchLossResult for a mean over something else. index_inputs() and
// is_capturable() are optional, see index_inputs.hpp and capture.hpp; so are decoding() and decode(inputs, cache) of a
// model, see decoding.hpp.
#pragma once

#ifndef TENON_TORCH_BUILD
#error "TENON_TORCH_BUILD is not defined: build the plugin with tenon_add_plugin(NAME TORCH SOURCES ...)"
#endif

#include <torch/nn/module.h>
#include <torch/nn/pimpl.h>
#include <torch/types.h>

#include <memory>
#include <string>
#include <string_view>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include "checkpointing.hpp"
#include "frozen_parameters.h"
#include "native_torch.h"
#include "parameter_roles.hpp"
#include "plugin.hpp"
#include "usual_sources.hpp"

namespace tenon {

// A mean and the number of items in it, see LossResult in loss.hpp.
struct TorchLossResult {
  TorchLossResult(torch::Tensor mean, double count) : loss(std::move(mean)), weight(count) {}
  TorchLossResult(torch::Tensor mean, torch::Tensor count) : loss(std::move(mean)), weight_tensor(std::move(count)) {}

  torch::Tensor loss;  // a scalar
  double weight = 0;
  torch::Tensor weight_tensor = {};
};

// The result of a model's decode, see Decoded in decoding.hpp.
struct TorchDecoded {
  torch::Tensor scores;
  std::vector<torch::Tensor> cache;
};

namespace detail {

TENON_HIDDEN inline const tenon_native_torch& native_torch() {
  static const auto* const table = find_extension<tenon_native_torch>(TENON_NATIVE_TORCH);
  if (!table) throw Error(TENON_UNSUPPORTED, "this host does not support " TENON_NATIVE_TORCH);
  return *table;
}

inline torch::Tensor unwrap(const tenon_tensor* handle) {
  torch::Tensor tensor;
  native_torch().unwrap(handle, &tensor);
  return tensor;
}

// The frame of the current forward on this thread; null outside of the host.
TENON_HIDDEN inline thread_local const tenon_frame* current_frame = nullptr;

class WithinFrame {
 public:
  explicit WithinFrame(const tenon_frame* frame) : before_(current_frame) { current_frame = frame; }
  ~WithinFrame() { current_frame = before_; }
  WithinFrame(const WithinFrame&) = delete;
  WithinFrame& operator=(const WithinFrame&) = delete;

 private:
  const tenon_frame* const before_;
};

// Creates a handle that the frame owns.
inline tenon_tensor* wrap_in_frame(const torch::Tensor& tensor, const tenon_frame* frame) {
  tenon_tensor* const handle = native_torch().wrap(&tensor);
  if (handle) native_torch().add_to_frame(frame, handle);
  return handle;
}

// The what() of LibTorch's errors ends in a backtrace, which does not help the user.
template <class Body>
TENON_HIDDEN tenon_status guard_torch(Body&& body) noexcept {
  return guard([&] {
    try {
      body();
    } catch (const c10::Error& error) {
      throw Error(TENON_FAILED, error.what_without_backtrace());
    }
  });
}

// The base of an Instance that uses LibTorch, see detail/instance.hpp.
struct TorchInstance {
  template <class Body>
  TENON_HIDDEN static tenon_status guard_instance(Body&& body) noexcept {
    return guard_torch(std::forward<Body>(body));
  }
};

template <class Function>
struct Arity;
template <class Result, class Class, class... Inputs>
struct Arity<Result (Class::*)(Inputs...)> : std::integral_constant<size_t, sizeof...(Inputs)> {};
template <class Result, class Class, class... Inputs>
struct Arity<Result (Class::*)(Inputs...) const> : std::integral_constant<size_t, sizeof...(Inputs)> {};

template <class T>
inline constexpr size_t input_count_of = Arity<decltype(&T::forward)>::value;

// Calls forward with the number of inputs that it declares.
template <class T>
auto call_forward(T& object, tenon_tensor* const* inputs, uint64_t input_count) {
  constexpr size_t expected = input_count_of<T>;
  require_count("forward takes ", expected, " inputs; got ", input_count);
  return [&]<size_t... index>(std::index_sequence<index...>) { return object.forward(unwrap(inputs[index])...); }
  (std::make_index_sequence<expected>());
}

// Returns the ports. Throws Error if they do not match the signature of forward.
template <class T>
std::vector<Port> ports_of(const T& object) {
  std::vector<Port> ports = object.ports();
  size_t inputs = 0;
  for (const Port& port : ports) inputs += port.direction == TENON_INPUT;
  require_count("ports() has ", inputs, " inputs; forward takes ", input_count_of<T>);
  return ports;
}

inline std::vector<torch::Tensor> list_outputs(torch::Tensor output) { return {std::move(output)}; }
inline std::vector<torch::Tensor> list_outputs(std::vector<torch::Tensor> outputs) { return outputs; }
template <class... Tensors>
std::vector<torch::Tensor> list_outputs(std::tuple<Tensors...> outputs) {
  return std::apply([](auto&... each) { return std::vector<torch::Tensor>{std::move(each)...}; }, outputs);
}

// An absent tensor is undefined.
inline std::vector<torch::Tensor> unwrap_all(tenon_tensor* const* handles, uint64_t count) {
  if (!handles) return {};
  std::vector<torch::Tensor> tensors(count);
  for (uint64_t i = 0; i < count; ++i)
    if (handles[i]) tensors[i] = unwrap(handles[i]);
  return tensors;
}

// A module with its ports and its registered weights.
template <class T>
struct TENON_HIDDEN TorchModelInstance : TorchInstance {
  using Self = TorchModelInstance;

  explicit TorchModelInstance(const tenon_params* params)
      : module(make(params)),
        component(*module),
        ports(ports_of(component)),
        index_inputs(index_inputs_of(component)),
        decoding(decoding_of(component)) {}

  void build(const tenon_builder* builder) {
    weights_.clear();
    adopt_all(Builder(builder), component, "");
    frozen_parameters_.clear();
    for (const Weight& weight : weights_)
      if (weight.is_frozen_parameter) frozen_parameters_.push_back(borrow(weight.name));
  }

  void forward(const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count, tenon_tensor** outputs,
               uint64_t output_count) {
    const WithinFrame within(frame);
    prepare(frame);
    const std::vector<torch::Tensor> given = list_outputs(call_forward(component, inputs, input_count));
    std::vector<Tensor> handles;
    for (const torch::Tensor& tensor : given) handles.emplace_back(wrap_in_frame(tensor, frame), nullptr);
    put_outputs(handles, outputs, output_count);
  }

  // `cache` is null in the first call.
  void decode(const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count, tenon_tensor* const* cache,
              tenon_tensor** next_cache, uint64_t cache_count, tenon_tensor** scores) {
    const WithinFrame within(frame);
    prepare(frame);
    const TorchDecoded decoded = component.decode(unwrap_all(inputs, input_count), unwrap_all(cache, cache_count));
    require_cache(decoded.cache.size(), cache_count);
    for (size_t i = 0; i < decoded.cache.size(); ++i) next_cache[i] = wrap_in_frame(decoded.cache[i], frame);
    *scores = wrap_in_frame(decoded.scores, frame);
  }

  // The parameters with requires_grad = false. Valid until the next build().
  void frozen_parameters(const tenon_string** names, uint64_t* count) const {
    *names = frozen_parameters_.data();
    *count = frozen_parameters_.size();
  }

  const std::shared_ptr<T> module;
  T& component;
  const Table<Port> ports;
  const Table<IndexInput> index_inputs;
  const DecodingInfo decoding;

  static constexpr tenon_model table = [] {
    tenon_model made = {};  // what newer versions append is null
    made.size = sizeof made;
    made.create = &create<Self>;
    made.destroy = &destroy<Self>;
    made.ports = &hand_out_member<Self, &Self::ports>;
    made.build = &call_member<Self, &Self::build>;
    made.forward = &call_member<Self, &Self::forward>;
    return made;
  }();

 private:
  struct Weight {
    std::string name;
    torch::Tensor tensor;
    bool is_frozen_parameter;
    uint64_t index;  // index in the frame
  };

  static std::shared_ptr<T> make(const tenon_params* params) {
    if constexpr (std::is_constructible_v<T, const Params&>) {
      return std::make_shared<T>(Params(params));
    } else {
      return std::make_shared<T>();
    }
  }

  // Uses the order of PyTorch's state_dict(): a module's parameters, its buffers, then its children.
  void adopt_all(const Builder& builder, const torch::nn::Module& module, const std::string& prefix) {
    for (const auto& parameter : module.named_parameters(/*recurse=*/false)) {
      const bool is_frozen = !parameter.value().requires_grad();
      adopt(builder, prefix + parameter.key(), parameter.value(), is_frozen ? 0 : TENON_TRAINABLE, is_frozen);
    }
    for (const auto& buffer : module.named_buffers(/*recurse=*/false)) {
      adopt(builder, prefix + buffer.key(), buffer.value(), 0, false);
    }
    for (const auto& child : module.named_children()) adopt_all(builder, *child.value(), prefix + child.key() + ".");
  }

  void adopt(const Builder& builder, const std::string& name, const torch::Tensor& tensor, uint32_t flags,
             bool is_frozen_parameter) {
    tenon_tensor* const handle = native_torch().wrap(&tensor);
    try {
      weights_.push_back({name, tensor, is_frozen_parameter, builder.adopt(name, handle, flags)});
    } catch (...) {
      host->release(handle);
      throw;
    }
    host->release(handle);
  }

  void prepare(const tenon_frame* frame) {
    check_weights(frame);
    // train() walks the whole module tree, so it is called only on a change.
    if (module->is_training() != (frame->training != 0)) module->train(frame->training != 0);
  }

  // A module computes with the tensors that it holds. With other tensors in the frame, it would silently train or
  // evaluate the wrong ones.
  void check_weights(const tenon_frame* frame) const {
    for (const Weight& weight : weights_) {
      if (weight.index < frame->tensor_count && unwrap(frame->tensors[weight.index]).is_same(weight.tensor)) continue;
      throw Error(TENON_UNSUPPORTED, "forward received another tensor for \"" + weight.name +
                                         "\"; a torch::nn::Module computes only with its registered weights");
    }
  }

  std::vector<Weight> weights_;
  std::vector<tenon_string> frozen_parameters_;  // borrowed from the names of weights_
};

// A module knows which of its tensors are parameters, so every torch_model provides the extension.
template <class Instance>
struct TENON_HIDDEN FrozenParametersExtension {
  static constexpr bool is_provided = true;
  static constexpr std::string_view id = TENON_FROZEN_PARAMETERS;
  static constexpr tenon_frozen_parameters table = {sizeof(tenon_frozen_parameters),
                                                    &call_member<Instance, &Instance::frozen_parameters>};
};

template <class T>
struct TENON_HIDDEN TorchLossInstance : TorchInstance {
  using Self = TorchLossInstance;

  explicit TorchLossInstance(const tenon_params* params)
      : component(construct<T>(params)), ports(ports_of(component)), index_inputs(index_inputs_of(component)) {}

  // A plain tensor is the mean over the samples of the batch.
  static TorchLossResult complete(torch::Tensor loss, tenon_tensor* const* inputs) {
    return {std::move(loss), static_cast<double>(unwrap(inputs[0]).size(0))};
  }
  static TorchLossResult complete(TorchLossResult result, tenon_tensor* const*) { return result; }

  void forward(const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count, tenon_loss_result* result) {
    const TorchLossResult computed = complete(call_forward(component, inputs, input_count), inputs);
    result->loss = wrap_in_frame(computed.loss, frame);
    result->weight = computed.weight;
    result->weight_tensor = wrap_in_frame(computed.weight_tensor, frame);
  }

  T component;
  const Table<Port> ports;
  const Table<IndexInput> index_inputs;

  static constexpr tenon_loss table = [] {
    tenon_loss made = {};  // what newer versions append is null
    made.size = sizeof made;
    made.create = &create<Self>;
    made.destroy = &destroy<Self>;
    made.ports = &hand_out_member<Self, &Self::ports>;
    made.forward = &call_member<Self, &Self::forward>;
    return made;
  }();
};

template <class Function>
struct TENON_HIDDEN TorchSegmentTable {
  static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                              tenon_tensor** outputs, uint64_t output_count) {
    return guard_torch([&] {
      const WithinFrame within(frame);
      const std::vector<torch::Tensor> results = (*static_cast<Function*>(self))(unwrap_all(inputs, input_count));
      require_count("a segment returned ", results.size(), " outputs; expected ", output_count);
      for (size_t i = 0; i < results.size(); ++i) outputs[i] = wrap_in_frame(results[i], frame);
    });
  }

  static constexpr tenon_segment table = {sizeof(tenon_segment), &forward, &destroy<Function>};
};

}  // namespace detail

// Runs a segment of a module's forward with activation checkpointing if the run file enables it, see checkpointing.h:
//
//   for (auto& block : blocks_) x = tenon::checkpoint([block](torch::Tensor x) { return block->forward(x); }, x);
//
// `function`: std::vector<torch::Tensor>(std::vector<torch::Tensor>), with `output_count` results. It must capture what
// it needs by value, or refer to objects that live as long as the module. Among the tensors that are not inputs, only
// the module's parameters receive a gradient.
template <class Function>
std::vector<torch::Tensor> checkpoint(Function function, const std::vector<torch::Tensor>& inputs,
                                      size_t output_count) {
  const tenon_frame* const frame = detail::current_frame;
  if (!frame) return function(inputs);
  std::vector<tenon_tensor*> handles;
  for (const torch::Tensor& input : inputs) handles.push_back(detail::wrap_in_frame(input, frame));
  std::vector<tenon_tensor*> outputs(output_count, nullptr);
  detail::check(detail::checkpointing().run(frame, &detail::TorchSegmentTable<Function>::table,
                                            new Function(std::move(function)), handles.data(), handles.size(),
                                            outputs.data(), outputs.size()));
  return detail::unwrap_all(outputs.data(), outputs.size());
}

// The same for one tensor: torch::Tensor(torch::Tensor).
template <class Function>
torch::Tensor checkpoint(Function function, const torch::Tensor& input) {
  return checkpoint(
             [function = std::move(function)](const std::vector<torch::Tensor>& inputs) {
               return std::vector<torch::Tensor>{function(inputs[0])};
             },
             std::vector<torch::Tensor>{input}, 1)
      .front();
}

// Registers T, a torch::nn::Module, as the model `id`.
template <class T>
Component torch_model(std::string id, std::string doc) {
  static_assert(std::is_base_of_v<torch::nn::Module, T>, "a torch_model derives from torch::nn::Module");
  using Instance = detail::TorchModelInstance<T>;
  return detail::describe_component<T>(
      TENON_MODEL, std::move(id), std::move(doc), &Instance::table,
      detail::Extensions<detail::CaptureExtension<T, Instance>, detail::DecodingExtension<T, Instance>,
                         detail::FrozenParametersExtension<Instance>, detail::IndexInputsExtension<T, Instance>,
                         detail::ParameterRolesExtension<T>, detail::UsualSourcesExtension<T>>::function());
}

// Registers T, a class over LibTorch tensors, as the loss `id`.
template <class T>
Component torch_loss(std::string id, std::string doc) {
  using Instance = detail::TorchLossInstance<T>;
  return detail::describe_component<T>(
      TENON_LOSS, std::move(id), std::move(doc), &Instance::table,
      detail::Extensions<detail::CaptureExtension<T, Instance>, detail::IndexInputsExtension<T, Instance>,
                         detail::ParameterRolesExtension<T>, detail::UsualSourcesExtension<T>>::function());
}

}  // namespace tenon

// Portable models in C++. (For a torch::nn::Module, see torch.hpp.) A class becomes a model by defining:
//
//   static std::vector<tenon::Param> schema();      // optional: the parameters
//   explicit T(const tenon::Params& params);        // or T()
//   std::vector<tenon::Port> ports() const;         // inputs and outputs, in forward's order
//   void build(tenon::Builder& builder);            // declares weights: weight_ = builder.parameter(...)
//   tenon::Tensor forward(const tenon::Frame& frame, const tenon::Inputs& inputs) const;
//   std::vector<std::pair<std::string, std::string>> tied_weights() const;    // optional, see tied_weights.hpp
//   static std::vector<std::pair<std::string, std::string>> usual_sources();  // optional, see usual_sources.hpp
//   std::vector<tenon::IndexInput> index_inputs() const;  // optional: inputs that hold indices, see index_inputs.hpp
//   bool is_capturable() const { return true; }     // optional: a CUDA graph can replay it, see capture.hpp
//   tenon::Decoding decoding() const;               // optional: continues sequences, together with decode, see
//                                                   // decoding.hpp
//
// Register the class with tenon::model<T>("id", "one line") in TENON_PLUGIN. forward of a model with several outputs
// returns a std::vector<tenon::Tensor>. forward depends only on its arguments: the weights are frame.tensor(weight_).
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

#include "capture.hpp"
#include "component.hpp"
#include "decoding.hpp"
#include "detail/instance.hpp"
#include "index_inputs.hpp"
#include "model.h"
#include "parameter_roles.hpp"
#include "tensor.hpp"
#include "tied_weights.hpp"
#include "usual_sources.hpp"

namespace tenon {

// How the host initialises a weight, see model.h.
struct Init {
  uint32_t kind;  // TENON_INIT_...
  double a = 0;
  double b = 0;
};

namespace init {

inline Init constant(double value) { return {TENON_INIT_CONSTANT, value}; }
inline Init uniform(double lower, double upper) { return {TENON_INIT_UNIFORM, lower, upper}; }
inline Init normal(double mean, double deviation) { return {TENON_INIT_NORMAL, mean, deviation}; }
inline Init kaiming_uniform(double negative_slope = 0) { return {TENON_INIT_KAIMING_UNIFORM, negative_slope}; }
inline Init kaiming_normal(double negative_slope = 0) { return {TENON_INIT_KAIMING_NORMAL, negative_slope}; }
inline Init xavier_uniform(double gain = 1) { return {TENON_INIT_XAVIER_UNIFORM, gain}; }
inline Init xavier_normal(double gain = 1) { return {TENON_INIT_XAVIER_NORMAL, gain}; }

}  // namespace init

// Declares the tensors that the host allocates, initialises and owns. Each function returns the index for
// Frame::tensor.
class Builder {
 public:
  explicit Builder(const tenon_builder* builder) : builder_(builder) {}

  // Declares a trainable tensor. The name contains dots, as in PyTorch: `hidden.0.weight`.
  uint64_t parameter(std::string_view name, const std::vector<int64_t>& shape, const Init& init,
                     int32_t dtype = TENON_FLOAT32) const {
    return declare(name, shape, init, dtype, TENON_TRAINABLE);
  }

  // Declares a tensor that is saved with the model but receives no gradients.
  uint64_t buffer(std::string_view name, const std::vector<int64_t>& shape, const Init& init,
                  int32_t dtype = TENON_FLOAT32) const {
    return declare(name, shape, init, dtype, 0);
  }

  // Registers an existing tensor. The host retains the tensor. flags: TENON_TRAINABLE or 0.
  uint64_t adopt(std::string_view name, tenon_tensor* tensor, uint32_t flags) const {
    uint64_t index = 0;
    detail::check(builder_->adopt(builder_, detail::borrow(name), tensor, flags, &index));
    return index;
  }

 private:
  uint64_t declare(std::string_view name, const std::vector<int64_t>& shape, const Init& init, int32_t dtype,
                   uint32_t flags) const {
    tenon_declaration declaration = {};
    declaration.size = sizeof declaration;
    declaration.name = detail::borrow(name);
    declaration.shape = shape.data();
    declaration.ndim = static_cast<uint32_t>(shape.size());
    declaration.dtype = dtype;
    declaration.flags = flags;
    declaration.init = init.kind;
    declaration.a = init.a;
    declaration.b = init.b;
    uint64_t index = 0;
    detail::check(builder_->declare(builder_, &declaration, &index));
    return index;
  }

  const tenon_builder* builder_;
};

namespace detail {

inline void put_outputs(const std::vector<Tensor>& given, tenon_tensor** outputs, uint64_t output_count) {
  require_count("forward returned ", given.size(), " outputs; the number of output ports is ", output_count);
  for (size_t i = 0; i < given.size(); ++i) outputs[i] = given[i].handle();
}

template <class T>
struct TENON_HIDDEN ModelInstance : PortableInstance {
  using Self = ModelInstance;

  explicit ModelInstance(const tenon_params* params)
      : component(construct<T>(params)),
        ports(component.ports()),
        index_inputs(index_inputs_of(component)),
        decoding(decoding_of(component)) {}

  void build(const tenon_builder* builder) {
    Builder declares(builder);
    component.build(declares);
  }

  void forward(const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count, tenon_tensor** outputs,
               uint64_t output_count) const {
    const Frame within(frame);
    const Inputs given(&within, inputs, input_count, &ports.items());
    if constexpr (std::is_convertible_v<decltype(component.forward(within, given)), Tensor>) {
      put_outputs({component.forward(within, given)}, outputs, output_count);
    } else {
      put_outputs(component.forward(within, given), outputs, output_count);
    }
  }

  void decode(const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count, tenon_tensor* const* cache,
              tenon_tensor** next_cache, uint64_t cache_count, tenon_tensor** scores) {
    const Frame within(frame);
    const Inputs given(&within, inputs, input_count, &ports.items());
    std::vector<Tensor> kept;
    for (uint64_t i = 0; cache && i < cache_count; ++i) kept.emplace_back(cache[i], &within);
    const Decoded decoded = component.decode(within, given, kept);
    require_cache(decoded.cache.size(), cache_count);
    for (size_t i = 0; i < decoded.cache.size(); ++i) next_cache[i] = decoded.cache[i].handle();
    *scores = decoded.scores.handle();
  }

  T component;
  const Table<Port> ports;
  const Table<IndexInput> index_inputs;
  const DecodingInfo decoding;
  NamePairs<tenon_tied_weight> tied_weights;

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
};

}  // namespace detail

// Registers T as the model `id`.
template <class T>
Component model(std::string id, std::string doc) {
  using Instance = detail::ModelInstance<T>;
  return detail::describe_component<T>(
      TENON_MODEL, std::move(id), std::move(doc), &Instance::table,
      detail::Extensions<detail::CaptureExtension<T, Instance>, detail::DecodingExtension<T, Instance>,
                         detail::IndexInputsExtension<T, Instance>, detail::TiedWeightsExtension<T, Instance>,
                         detail::ParameterRolesExtension<T>, detail::UsualSourcesExtension<T>>::function());
}

}  // namespace tenon

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
#include "detail/component_extensions.hpp"
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
  if (given.size() != output_count) {
    throw Error(TENON_INVALID_ARGUMENT, "forward returned " + std::to_string(given.size()) +
                                            " outputs; the number of output ports is " + std::to_string(output_count));
  }
  for (size_t i = 0; i < given.size(); ++i) {
    if (!given[i])
      throw Error(TENON_INVALID_ARGUMENT, "forward returned an empty tensor as output " + std::to_string(i));
    outputs[i] = given[i].handle();
  }
}

template <class T>
struct TENON_HIDDEN ModelTable {
  struct Instance {
    explicit Instance(const tenon_params* params)
        : model(construct<T>(params)),
          ports(model.ports()),
          index_inputs(index_inputs_of(model)),
          decoding(decoding_of(model)) {}
    T model;
    const Table<Port> ports;
    const Table<IndexInput> index_inputs;
    const DecodingInfo decoding;
    std::unique_ptr<const NamePairs<tenon_tied_weight>> tied_weights = nullptr;
  };

  static Instance& instance(void* self) { return *static_cast<Instance*>(self); }
  static const T& component(void* self) { return instance(self).model; }
  static const Table<IndexInput>& index_inputs(void* self) { return instance(self).index_inputs; }
  static const DecodingInfo& decoding(void* self) { return instance(self).decoding; }
  static std::unique_ptr<const NamePairs<tenon_tied_weight>>& tied_weights(void* self) {
    return instance(self).tied_weights;
  }

  static tenon_status create(const tenon_host*, const tenon_params* params, void** self) {
    return guard([&] { *self = new Instance(params); });
  }

  static void destroy(void* self) { delete static_cast<Instance*>(self); }

  static tenon_status ports(void* self, const tenon_port* const** ports, uint64_t* count) {
    instance(self).ports.hand_out(ports, count);
    return TENON_OK;
  }

  static tenon_status build(void* self, const tenon_builder* builder) {
    return guard([&] {
      Builder declares(builder);
      instance(self).model.build(declares);
    });
  }

  static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                              tenon_tensor** outputs, uint64_t output_count) {
    return guard([&] {
      const Frame within(frame);
      const Inputs given(&within, inputs, input_count, &instance(self).ports.items());
      const T& model = instance(self).model;
      if constexpr (std::is_convertible_v<decltype(model.forward(within, given)), Tensor>) {
        put_outputs({model.forward(within, given)}, outputs, output_count);
      } else {
        put_outputs(model.forward(within, given), outputs, output_count);
      }
    });
  }

  static tenon_status decode(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                             tenon_tensor* const* cache, tenon_tensor** next_cache, uint64_t cache_count,
                             tenon_tensor** scores) {
    return guard([&] {
      const Frame within(frame);
      const Inputs given(&within, inputs, input_count, &instance(self).ports.items());
      std::vector<Tensor> kept;
      for (uint64_t i = 0; cache && i < cache_count; ++i) kept.emplace_back(cache[i], &within);
      const Decoded decoded = instance(self).model.decode(within, given, kept);
      require_cache(decoded.cache.size(), cache_count);
      for (size_t i = 0; i < decoded.cache.size(); ++i) next_cache[i] = decoded.cache[i].handle();
      *scores = decoded.scores.handle();
    });
  }

  static constexpr tenon_model make() {
    tenon_model made = {};
    made.size = sizeof made;
    made.create = &create;
    made.destroy = &destroy;
    made.ports = &ports;
    made.build = &build;
    made.forward = &forward;
    return made;
  }

  static const tenon_model table;
};

template <class T>
const tenon_model ModelTable<T>::table = ModelTable<T>::make();

}  // namespace detail

// Registers T as the model `id`.
template <class T>
Component model(std::string id, std::string doc) {
  using Table = detail::ModelTable<T>;
  return {TENON_MODEL,
          std::move(id),
          std::move(doc),
          detail::schema_of<T>(),
          &Table::table,
          detail::Extensions<detail::CaptureExtension<T, Table>, detail::DecodingExtension<T, Table>,
                             detail::IndexInputsExtension<T, Table>, detail::TiedWeightsExtension<T, Table>,
                             detail::ParameterRolesExtension<T>, detail::UsualSourcesExtension<T>>::function()};
}

}  // namespace tenon

// Losses in C++. A class becomes a loss by defining:
//
//   static std::vector<tenon::Param> schema();      // optional: the parameters
//   explicit T(const tenon::Params& params);        // or T()
//   std::vector<tenon::Port> ports() const;         // the inputs
//   tenon::LossResult forward(const tenon::Frame& frame, const tenon::Inputs& inputs) const;
//   std::vector<std::string> parts() const;         // optional: names for LossResult::parts
//   std::vector<tenon::IndexInput> index_inputs() const;  // optional: inputs that hold indices, see index_inputs.hpp
//   static std::vector<std::pair<std::string, std::string>> usual_sources();  // optional, see usual_sources.hpp
//   bool is_capturable() const { return true; }     // optional: a CUDA graph can replay it, see capture.hpp
//
// Register the class with tenon::loss<T>("id", "one line") in TENON_PLUGIN.
#pragma once

#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "capture.hpp"
#include "component.hpp"
#include "detail/component_extensions.hpp"
#include "index_inputs.hpp"
#include "loss.h"
#include "parameter_roles.hpp"
#include "tensor.hpp"
#include "usual_sources.hpp"

namespace tenon {

// A mean and the number of items in it: samples, or tokens that are not ignored. The host uses the weight to make the
// gradient of several micro-batches or ranks equal to that of one large batch.
struct LossResult {
  LossResult(const Tensor& mean, double count) : loss(mean), weight(count) {}
  // The weight as a scalar tensor, if only the device knows it. Reading it would synchronise with the device.
  LossResult(const Tensor& mean, const Tensor& count) : loss(mean), weight_tensor(count) {}

  Tensor loss;  // a scalar
  double weight = 0;
  Tensor weight_tensor = {};
  // The parts of the loss, for the history: scalars in the order of parts(). An empty tensor marks a part that this
  // batch does not have.
  std::vector<Tensor> parts = {};
};

namespace detail {

template <class T, class = void>
inline constexpr bool has_parts = false;
template <class T>
inline constexpr bool has_parts<T, std::void_t<decltype(std::declval<const T&>().parts())>> = true;

template <class T>
struct TENON_HIDDEN LossTable {
  struct Instance {
    explicit Instance(const tenon_params* params)
        : loss(construct<T>(params)), ports(loss.ports()), index_inputs(index_inputs_of(loss)) {
      if constexpr (has_parts<T>) part_names = loss.parts();
      for (const std::string& name : part_names) borrowed_names.push_back(borrow(name));
    }
    T loss;
    const Table<Port> ports;
    const Table<IndexInput> index_inputs;
    std::vector<std::string> part_names;
    std::vector<tenon_string> borrowed_names;
  };

  static Instance& instance(void* self) { return *static_cast<Instance*>(self); }
  static const T& component(void* self) { return instance(self).loss; }
  static const Table<IndexInput>& index_inputs(void* self) { return instance(self).index_inputs; }

  static tenon_status create(const tenon_host*, const tenon_params* params, void** self) {
    return guard([&] { *self = new Instance(params); });
  }

  static void destroy(void* self) { delete static_cast<Instance*>(self); }

  static tenon_status ports(void* self, const tenon_port* const** ports, uint64_t* count) {
    instance(self).ports.hand_out(ports, count);
    return TENON_OK;
  }

  static tenon_status forward(void* self, const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
                              tenon_loss_result* result) {
    return guard([&] {
      const Frame within(frame);
      const Inputs given(&within, inputs, input_count, &instance(self).ports.items());
      const LossResult computed = std::as_const(instance(self).loss).forward(within, given);
      result->loss = computed.loss.handle();
      result->weight = computed.weight;
      result->weight_tensor = computed.weight_tensor.handle();
      if (computed.parts.size() != result->part_count) {
        throw Error(TENON_INVALID_ARGUMENT, "forward returned " + std::to_string(computed.parts.size()) +
                                                " parts; parts() returned " + std::to_string(result->part_count));
      }
      for (size_t i = 0; i < computed.parts.size(); ++i) result->parts[i] = computed.parts[i].handle();
    });
  }

  static tenon_status parts(void* self, const tenon_string** names, uint64_t* count) {
    *names = instance(self).borrowed_names.data();
    *count = instance(self).borrowed_names.size();
    return TENON_OK;
  }

  static constexpr tenon_loss make() {
    tenon_loss made = {};
    made.size = sizeof made;
    made.create = &create;
    made.destroy = &destroy;
    made.ports = &ports;
    made.forward = &forward;
    if constexpr (has_parts<T>) made.parts = &parts;
    return made;
  }

  static const tenon_loss table;
};

template <class T>
const tenon_loss LossTable<T>::table = LossTable<T>::make();

}  // namespace detail

// Registers T as the loss `id`.
template <class T>
Component loss(std::string id, std::string doc) {
  using Table = detail::LossTable<T>;
  return {TENON_LOSS,
          std::move(id),
          std::move(doc),
          detail::schema_of<T>(),
          &Table::table,
          detail::Extensions<detail::CaptureExtension<T, Table>, detail::IndexInputsExtension<T, Table>,
                             detail::ParameterRolesExtension<T>, detail::UsualSourcesExtension<T>>::function()};
}

}  // namespace tenon

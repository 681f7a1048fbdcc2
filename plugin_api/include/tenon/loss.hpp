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
#include <utility>
#include <vector>

#include "capture.hpp"
#include "component.hpp"
#include "detail/instance.hpp"
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

TENON_DETECT(parts, std::declval<const T&>().parts());

template <class T>
struct TENON_HIDDEN LossInstance : PortableInstance {
  using Self = LossInstance;

  explicit LossInstance(const tenon_params* params)
      : component(construct<T>(params)), ports(component.ports()), index_inputs(index_inputs_of(component)) {
    if constexpr (has_parts<T>) part_names = component.parts();
    for (const std::string& name : part_names) borrowed_names.push_back(borrow(name));
  }

  void forward(const tenon_frame* frame, tenon_tensor* const* inputs, uint64_t input_count,
               tenon_loss_result* result) const {
    const Frame within(frame);
    const Inputs given(&within, inputs, input_count, &ports.items());
    const LossResult computed = component.forward(within, given);
    result->loss = computed.loss.handle();
    result->weight = computed.weight;
    result->weight_tensor = computed.weight_tensor.handle();
    require_count("forward returned ", computed.parts.size(), " parts; parts() returned ", result->part_count);
    for (size_t i = 0; i < computed.parts.size(); ++i) result->parts[i] = computed.parts[i].handle();
  }

  static tenon_status parts(void* self, const tenon_string** names, uint64_t* count) {
    const std::vector<tenon_string>& parts = static_cast<Self*>(self)->borrowed_names;
    *names = parts.data();
    *count = parts.size();
    return TENON_OK;
  }

  T component;
  const Table<Port> ports;
  const Table<IndexInput> index_inputs;
  std::vector<std::string> part_names;
  std::vector<tenon_string> borrowed_names;

  static constexpr tenon_loss table = [] {
    tenon_loss made = {};  // what newer versions append is null
    made.size = sizeof made;
    made.create = &create<Self>;
    made.destroy = &destroy<Self>;
    made.ports = &hand_out_member<Self, &Self::ports>;
    made.forward = &call_member<Self, &Self::forward>;
    if constexpr (has_parts<T>) made.parts = &parts;
    return made;
  }();
};

}  // namespace detail

// Registers T as the loss `id`.
template <class T>
Component loss(std::string id, std::string doc) {
  using Instance = detail::LossInstance<T>;
  return detail::describe_component<T>(
      TENON_LOSS, std::move(id), std::move(doc), &Instance::table,
      detail::Extensions<detail::CaptureExtension<T, Instance>, detail::IndexInputsExtension<T, Instance>,
                         detail::ParameterRolesExtension<T>, detail::UsualSourcesExtension<T>>::function());
}

}  // namespace tenon

// Results of a portable model in C++, see results.h. Such a class defines
//
//   std::vector<tenon::draft::Result> results() const {
//     return {tenon::draft::box_list("boxes", "image", "classes"), tenon::draft::list("classes")};
//   }
//   // `outputs`: those of forward. Returns the results in the order of results().
//   std::vector<tenon::draft::ResultValue> compute_results(const tenon::Frame& frame,
//                                                          const std::vector<tenon::Tensor>& outputs) const;
//
// and is registered with tenon::draft::model_with_results<T>("id", "one line").
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../detail/added_extension.hpp"
#include "../model.hpp"
#include "results.h"

namespace tenon::draft {

struct Result {
  std::string name;
  std::string doc = {};
  bool is_list = false;  // whether the number of rows differs between samples
  uint32_t role = TENON_FIELD_NUMBERS;
  std::string image = {};    // input with the image; for each role but TENON_FIELD_NUMBERS
  std::string classes = {};  // for boxes: result with the class of each

  tenon_result describe() const {
    tenon_result result = {};
    result.size = sizeof result;
    result.name = tenon::detail::borrow(name);
    result.role = role;
    result.is_list = is_list ? 1 : 0;
    result.image = tenon::detail::borrow(image);
    result.classes = tenon::detail::borrow(classes);
    result.doc = tenon::detail::borrow(doc);
    return result;
  }
};

// Rows [N, K, ...], of which each sample has a number.
inline Result list(std::string name, std::string doc = {}) { return {std::move(name), std::move(doc), true}; }

// Boxes [N, K, 4] in the image of an input: left, top, right, bottom in pixels. `classes`: the list with their classes.
inline Result box_list(std::string name, std::string image, std::string classes = {}, std::string doc = {}) {
  return {std::move(name), std::move(doc), true, TENON_FIELD_BOXES, std::move(image), std::move(classes)};
}

struct ResultValue {
  Tensor values;        // [N, ...], or [N, K, ...] for a list
  Tensor lengths = {};  // for a list: int64 [N], at most K
};

namespace detail {

// A model and its results, which the host borrows.
template <class T>
struct TENON_HIDDEN ModelWithResults : tenon::detail::ModelInstance<T> {
  using Base = tenon::detail::ModelInstance<T>;

  explicit ModelWithResults(const tenon_params* params) : Base(params), results(this->component.results()) {}

  static tenon_status create(const tenon_host*, const tenon_params* params, void** self) {
    return tenon::detail::guard([&] { *self = static_cast<Base*>(new ModelWithResults(params)); });
  }

  static ModelWithResults* from(void* self) { return static_cast<ModelWithResults*>(static_cast<Base*>(self)); }

  static void destroy(void* self) { delete from(self); }

  static constexpr tenon_model make() {
    tenon_model made = Base::table;
    made.create = &create;
    made.destroy = &destroy;
    return made;
  }

  const tenon::detail::Table<Result> results;

  static constexpr tenon_model table = make();
};

template <class T>
struct TENON_HIDDEN ResultsExtension {
  static tenon_status results(void* self, const tenon_result* const** results, uint64_t* count) {
    return tenon::detail::guard([&] { ModelWithResults<T>::from(self)->results.hand_out(results, count); });
  }

  static tenon_status compute(void* self, const tenon_frame* frame, tenon_tensor* const* outputs, uint64_t output_count,
                              tenon_tensor** values, tenon_tensor** lengths, uint64_t result_count) {
    return tenon::detail::guard([&] {
      const Frame within(frame);
      std::vector<Tensor> given;
      for (uint64_t i = 0; i < output_count; ++i) given.emplace_back(outputs[i], &within);
      const std::vector<ResultValue> computed =
          ModelWithResults<T>::from(self)->component.compute_results(within, given);
      tenon::detail::require_count("compute_results returned ", computed.size(), " results; results() returned ",
                                   result_count);
      for (size_t i = 0; i < computed.size(); ++i) {
        values[i] = computed[i].values.handle();
        lengths[i] = computed[i].lengths.handle();
      }
    });
  }

  static constexpr std::string_view id = TENON_RESULTS;
  static constexpr tenon_results table = {sizeof(tenon_results), &results, &compute};
};

}  // namespace detail

// Registers T as the model `id`.
template <class T>
Component model_with_results(std::string id, std::string doc) {
  Component made = model<T>(std::move(id), std::move(doc));
  made.table = &detail::ModelWithResults<T>::table;
  return tenon::detail::add_extension<T, detail::ResultsExtension<T>>(std::move(made));
}

}  // namespace tenon::draft

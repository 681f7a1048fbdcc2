// Results of a portable model in C++, see results.h. (For a torch::nn::Module, see torch_results.hpp.) Such a class
// defines
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

struct TENON_HIDDEN ResultList {
  using Item = Result;
  template <class T>
  static std::vector<Item> of(const T& model) {
    return model.results();
  }
};

// `Model`: the instance of a model.
template <class Model>
using WithResults = tenon::detail::WithList<Model, ResultList>;

// `Compute` has the function compute(component, frame, outputs, output_count, values, lengths, result_count).
template <class Model, class Compute>
struct TENON_HIDDEN ResultsExtension {
  static tenon_status compute(void* self, const tenon_frame* frame, tenon_tensor* const* outputs, uint64_t output_count,
                              tenon_tensor** values, tenon_tensor** lengths, uint64_t result_count) {
    return Model::guard_instance([&] {
      Compute::compute(WithResults<Model>::from(self)->component, frame, outputs, output_count, values, lengths,
                       result_count);
    });
  }

  static constexpr std::string_view id = TENON_RESULTS;
  static constexpr tenon_results table = {sizeof(tenon_results), &WithResults<Model>::template hand_out<tenon_result>,
                                          &compute};
};

inline void require_results(size_t computed, uint64_t declared) {
  tenon::detail::require_count("compute_results returned ", computed, " results; results() returned ", declared);
}

struct TENON_HIDDEN ComputeResults {
  template <class T>
  static void compute(const T& model, const tenon_frame* frame, tenon_tensor* const* outputs, uint64_t output_count,
                      tenon_tensor** values, tenon_tensor** lengths, uint64_t result_count) {
    const Frame within(frame);
    std::vector<Tensor> given;
    for (uint64_t i = 0; i < output_count; ++i) given.emplace_back(outputs[i], &within);
    const std::vector<ResultValue> computed = model.compute_results(within, given);
    require_results(computed.size(), result_count);
    for (size_t i = 0; i < computed.size(); ++i) {
      values[i] = computed[i].values.handle();
      lengths[i] = computed[i].lengths.handle();
    }
  }
};

// Adds the results to a model that is described already.
template <class Model, class Compute>
Component add_results(Component made) {
  made.table = &WithResults<Model>::table;
  return tenon::detail::add_extension<Model, ResultsExtension<Model, Compute>>(std::move(made));
}

}  // namespace detail

// Registers T as the model `id`.
template <class T>
Component model_with_results(std::string id, std::string doc) {
  return detail::add_results<tenon::detail::ModelInstance<T>, detail::ComputeResults>(
      model<T>(std::move(id), std::move(doc)));
}

}  // namespace tenon::draft

// Inputs that hold indices, in C++. A model, loss or metric defines:
//
//   std::vector<tenon::IndexInput> index_inputs() const {
//     return {tenon::index_below("C", "target").ignoring(-100)};  // classes, one for each extent of the dimension C
//   }
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "detail/detect.hpp"
#include "detail/instance.hpp"
#include "detail/table.hpp"
#include "index_inputs.h"

namespace tenon {

struct IndexInput {
  std::string name;       // of the input
  std::string dimension;  // a named dimension of the ports; empty: limit
  int64_t limit;
  bool has_ignore_index = false;
  int64_t ignore_index = 0;

  // Also accepts this value.
  IndexInput ignoring(int64_t value) && {
    has_ignore_index = true;
    ignore_index = value;
    return std::move(*this);
  }

  tenon_index_input describe() const {
    tenon_index_input input = {};
    input.size = sizeof input;
    input.input = detail::borrow(name);
    input.dimension = detail::borrow(dimension);
    input.limit = limit;
    input.flags = has_ignore_index ? TENON_HAS_IGNORE_INDEX : 0;
    input.ignore_index = ignore_index;
    return input;
  }
};

// The elements of the input are at least 0 and below a number.
inline IndexInput index_below(int64_t limit, std::string input) { return {std::move(input), "", limit}; }

// The elements of the input are at least 0 and below the extent of a named dimension of the component's input ports.
inline IndexInput index_below(std::string dimension, std::string input) {
  return {std::move(input), std::move(dimension), 0};
}

namespace detail {

TENON_DETECT(index_inputs, std::declval<const T&>().index_inputs());

// The list of a component's instance; empty if T has none.
template <class T>
std::vector<IndexInput> index_inputs_of([[maybe_unused]] const T& component) {
  if constexpr (has_index_inputs<T>) return component.index_inputs();
  return {};
}

// The extension of a component.
template <class T, class Instance>
struct TENON_HIDDEN IndexInputsExtension {
  static constexpr bool is_provided = has_index_inputs<T>;
  static constexpr std::string_view id = TENON_INDEX_INPUTS;
  static constexpr tenon_index_inputs table = {sizeof(tenon_index_inputs),
                                               &hand_out_member<Instance, &Instance::index_inputs>};
};

}  // namespace detail
}  // namespace tenon

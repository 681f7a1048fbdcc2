// How a dataset makes the elements of its fields, in C++. A dataset defines a function that returns the steps of
// fields:
//
//   std::vector<tenon::Preprocessing> preprocessing() const {
//     return {{"image", R"([{"name": "normalize", "divide_by": 255, "mean": [0.5], "std": [0.5]}])"}};
//   }
//
// It is called once, after construction. preprocessing.h explains the text.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "detail/detect.hpp"
#include "detail/guard.hpp"
#include "preprocessing.h"

namespace tenon {

struct Preprocessing {
  std::string field;
  std::string steps;  // JSON, see preprocessing.h

  tenon_preprocessing describe() const {
    tenon_preprocessing described = {};
    described.size = sizeof described;
    described.field = detail::borrow(field);
    described.steps = detail::borrow(steps);
    return described;
  }
};

namespace detail {

TENON_DETECT(preprocessing, std::declval<const T&>().preprocessing());

}  // namespace detail

}  // namespace tenon

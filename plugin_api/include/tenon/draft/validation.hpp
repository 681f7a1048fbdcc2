// Exceptions to the checks of `host validate` in C++, see validation.h. Such a class defines
//
//   static std::vector<tenon::draft::Exception> exceptions() {
//     return {{"adds-up", "the other samples of a batch are its negatives"}};
//   }
//
// and is registered with tenon::draft::with_exceptions<T>(tenon::loss<T>("id", "one line")).
#pragma once

#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "../detail/added_extension.hpp"
#include "../detail/table.hpp"
#include "validation.h"

namespace tenon::draft {

struct Exception {
  std::string check;   // "adds-up"
  std::string reason;  // not empty

  tenon_exception describe() const {
    tenon_exception exception = {};
    exception.size = sizeof exception;
    exception.check = tenon::detail::borrow(check);
    exception.reason = tenon::detail::borrow(reason);
    return exception;
  }
};

namespace detail {

template <class T>
struct TENON_HIDDEN ValidationExtension {
  static tenon_status exceptions(const tenon_exception* const** exceptions, uint64_t* count) {
    return tenon::detail::guard([&] {
      static const tenon::detail::Table<Exception> kAll(T::exceptions());
      kAll.hand_out(exceptions, count);
    });
  }

  static constexpr std::string_view id = TENON_VALIDATION;
  static constexpr tenon_validation table = {sizeof(tenon_validation), &exceptions};
};

}  // namespace detail

// Adds the exceptions of T to its component.
template <class T>
Component with_exceptions(Component component) {
  return tenon::detail::add_extension<T, detail::ValidationExtension<T>>(std::move(component));
}

}  // namespace tenon::draft

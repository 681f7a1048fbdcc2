// Exceptions to the checks of `host validate` in C++, see validation.h. Such a class defines
//
//   static std::vector<tenon::draft::Exception> exceptions() {
//     return {{"adds-up", "the other samples of a batch are its negatives"}};
//   }
//
// and is registered with tenon::draft::with_exceptions<T>(tenon::loss<T>("id", "one line")).
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "../component.hpp"
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
struct TENON_HIDDEN ExceptionsOf {
  static tenon_status exceptions(const tenon_exception* const** exceptions, uint64_t* count) {
    return tenon::detail::guard([&] {
      static const tenon::detail::Table<Exception> kAll(T::exceptions());
      kAll.hand_out(exceptions, count);
    });
  }

  static const void* get_extension(tenon_string id) {
    static constexpr tenon_validation kTable = {sizeof(tenon_validation), &exceptions};
    if (tenon::detail::copy(id) == TENON_VALIDATION) return &kTable;
    return others ? others(id) : nullptr;
  }

  static inline const void* (*others)(tenon_string id) = nullptr;  // the component's other extensions
};

}  // namespace detail

// Adds the exceptions of T to its component.
template <class T>
Component with_exceptions(Component component) {
  detail::ExceptionsOf<T>::others = component.get_extension;
  component.get_extension = &detail::ExceptionsOf<T>::get_extension;
  return component;
}

}  // namespace tenon::draft

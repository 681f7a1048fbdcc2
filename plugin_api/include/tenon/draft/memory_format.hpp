// Models that need contiguous tensors in C++, see memory_format.h. Such a model, portable or native, is registered with
//
//   tenon::draft::contiguous_model<Net>(tenon::torch_model<Net>("net", "one line"))
#pragma once

#include <cstdint>
#include <string_view>
#include <utility>

#include "../detail/added_extension.hpp"
#include "memory_format.h"

namespace tenon::draft {

namespace detail {

struct TENON_HIDDEN ContiguousExtension {
  static tenon_status needs_contiguous(void*, uint32_t* result) {
    *result = 1;
    return TENON_OK;
  }

  static constexpr std::string_view id = TENON_MEMORY_FORMAT;
  static constexpr tenon_memory_format table = {sizeof(tenon_memory_format), &needs_contiguous};
};

}  // namespace detail

// `T`: the class of the model.
template <class T>
Component contiguous_model(Component model) {
  return tenon::detail::add_extension<T, detail::ContiguousExtension>(std::move(model));
}

}  // namespace tenon::draft

// The extensions of a component of the plugin.
#pragma once

#include <string>
#include <string_view>

#include "guard.hpp"

namespace tenon::detail {

// The get_extension of a component. Each extension has `is_provided`, and if that is true an `id` and a `table`.
template <class... Each>
struct TENON_HIDDEN Extensions {
  template <class Extension>
  static const void* find_in(std::string_view id) {
    if constexpr (Extension::is_provided) {
      if (id == Extension::id) return &Extension::table;
    }
    return nullptr;
  }

  static const void* find(tenon_string id) {
    const std::string name = copy(id);
    const void* found = nullptr;
    static_cast<void>(((found = find_in<Each>(name)) || ...));
    return found;
  }

  // For Component::get_extension; null if no extension is provided.
  static constexpr auto function() -> const void* (*)(tenon_string) {
    return (Each::is_provided || ...) ? &find : nullptr;
  }
};

}  // namespace tenon::detail

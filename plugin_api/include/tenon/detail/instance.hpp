// The functions of a component's tables, and its extensions. An Instance holds the author's object as `component`, with
// the lists that the host borrows from it. It has a constructor from const tenon_params*.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

#include "../component.hpp"
#include "guard.hpp"

namespace tenon::detail {

// The base of an Instance, with the guard of its functions.
struct PortableInstance {
  template <class Body>
  TENON_HIDDEN static tenon_status guard_instance(Body&& body) noexcept {
    return guard(std::forward<Body>(body));
  }
};

template <class Instance>
TENON_HIDDEN tenon_status create(const tenon_host*, const tenon_params* params, void** self) {
  return Instance::guard_instance([&] { *self = new Instance(params); });
}

template <class Instance>
TENON_HIDDEN void destroy(void* self) {
  delete static_cast<Instance*>(self);
}

// Calls a member function of the instance.
template <class Instance, auto function, class... Args>
TENON_HIDDEN tenon_status call_member(void* self, Args... args) {
  return Instance::guard_instance([&] { (static_cast<Instance*>(self)->*function)(args...); });
}

// Passes a member with a function hand_out(), such as a Table, to the host.
template <class Instance, auto member, class... Args>
TENON_HIDDEN tenon_status hand_out_member(void* self, Args... args) {
  (static_cast<Instance*>(self)->*member).hand_out(args...);
  return TENON_OK;
}

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

// Describes the component T.
template <class T>
TENON_HIDDEN Component describe_component(uint32_t kind, std::string id, std::string doc, const void* table,
                                          decltype(Component::get_extension) get_extension) {
  return {kind, std::move(id), std::move(doc), schema_of<T>(), table, get_extension};
}

}  // namespace tenon::detail

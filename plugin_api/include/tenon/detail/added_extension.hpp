// Adds an extension to a component that is described already. Plugins do not include this file.
#pragma once

#include "../component.hpp"
#include "guard.hpp"

namespace tenon::detail {

// `Extension` has an `id` and a `table`. T makes the component distinct from others with this extension.
template <class T, class Extension>
struct TENON_HIDDEN AddedExtension {
  static const void* get_extension(tenon_string id) {
    if (copy(id) == Extension::id) return &Extension::table;
    return others ? others(id) : nullptr;
  }

  static inline const void* (*others)(tenon_string id) = nullptr;  // the component's other extensions
};

template <class T, class Extension>
Component add_extension(Component component) {
  AddedExtension<T, Extension>::others = component.get_extension;
  component.get_extension = &AddedExtension<T, Extension>::get_extension;
  return component;
}

}  // namespace tenon::detail

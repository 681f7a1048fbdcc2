// Adds an extension to a component that is described already. Plugins do not include this file.
#pragma once

#include "../component.hpp"
#include "guard.hpp"
#include "table.hpp"

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

// An instance with a list that the host borrows for an extension. `List` has the type `Item`, and `of` returns the
// items of the author's object.
template <class Base, class List>
struct TENON_HIDDEN WithList : Base {
  explicit WithList(const tenon_params* params) : Base(params), list(List::of(this->component)) {}

  static tenon_status create(const tenon_host*, const tenon_params* params, void** self) {
    return Base::guard_instance([&] { *self = static_cast<Base*>(new WithList(params)); });
  }

  static WithList* from(void* self) { return static_cast<WithList*>(static_cast<Base*>(self)); }

  static void destroy(void* self) { delete from(self); }

  template <class Descriptor>
  static tenon_status hand_out(void* self, const Descriptor* const** items, uint64_t* count) {
    from(self)->list.hand_out(items, count);
    return TENON_OK;
  }

  const Table<typename List::Item> list;

  // The table of Base with this instance.
  static inline const auto table = [] {
    auto made = Base::table;
    made.create = &create;
    made.destroy = &destroy;
    return made;
  }();
};

}  // namespace tenon::detail

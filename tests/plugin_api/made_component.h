// A component, created by a fake host.
#pragma once

#include <utility>

#include <doctest/doctest.h>
#include <tenon/plugin.hpp>

#include "tests/plugin_api/fake_host.h"

namespace tenon::test {

template <class Table>
struct MadeComponent {
  explicit MadeComponent(Component made) : component(std::move(made)) {
    host.open(tenon_plugin_open);
    tenon_ops_open(host.table(), &detail::operators);
    REQUIRE(table.create(host.table(), &params, &self) == TENON_OK);
  }
  ~MadeComponent() { table.destroy(self); }

  // REQUIRES: the component has the extension.
  template <class Extension>
  const Extension& extension(const char* id) const {
    REQUIRE((component.get_extension != nullptr));
    const void* const found = component.get_extension(to_string(id));
    REQUIRE(found);
    return *static_cast<const Extension*>(found);
  }

  FakeHost host;
  tenon_params params;
  Component component;
  const Table& table = *static_cast<const Table*>(component.table);
  void* self = nullptr;
};

}  // namespace tenon::test

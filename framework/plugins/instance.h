// An object that a plugin created: destroyed by the plugin, and every call on it guarded.
#pragma once

#include <string>
#include <utility>

#include "framework/config/run_plan.h"
#include "framework/plugins/component.h"
#include "framework/plugins/guard.h"
#include "framework/plugins/host_table.h"
#include "framework/plugins/parameters.h"
#include "framework/plugins/ports.h"

namespace tenon::plugins {

// Table is tenon_model, tenon_dataset, ...; each begins with create and destroy.
template <class Table>
class Instance {
 public:
  // Throws Error as call_plugin does, headed by the place in the run file that asked for the component.
  Instance(const Component& component, const config::ComponentPlan& plan) : component_(&component) {
    const tenon_params params(plan.params);
    call([&](const Table& table) { return table.create(&host_table(), &params, &self_); }, "create",
         [&] { return plan.place; });
  }
  ~Instance() {
    if (component_) {
      try {
        call_plugin(*component_, "destroy", [&] {
          table().destroy(self_);
          return TENON_OK;
        });
      } catch (const std::exception&) {
        // A destructor has nobody to tell; the run's outcome does not depend on it.
      }
    }
  }
  Instance(Instance&& other) noexcept : component_(std::exchange(other.component_, nullptr)), self_(other.self_) {}
  Instance& operator=(Instance&&) = delete;

  const Component& component() const { return *component_; }
  const Table& table() const { return *static_cast<const Table*>(component_->table); }
  void* self() const { return self_; }

  // Whether the table has an optional function: its size reaches the field, and the field is not null.
  template <class Function>
  bool has(Function Table::*field) const {
    const auto offset = reinterpret_cast<const char*>(&(table().*field)) - reinterpret_cast<const char*>(&table());
    return table().size >= static_cast<uint64_t>(offset) + sizeof(Function) && table().*field;
  }

  // Of a table that has ports. Throws Error(plugin) for ports that make no sense.
  PortList read_ports() const {
    const tenon_port* const* ports = nullptr;
    uint64_t count = 0;
    call([&](const Table& table) { return table.ports(self_, &ports, &count); }, "ports");
    const Reading reading(*component_, "ports, reading what it gave");
    return plugins::read_ports(*component_, ports, count);
  }

  // A further table of the component by its id, or null. It is as large as the reader's at least.
  template <class Extension>
  const Extension* extension(const char* id) const {
    const void* found = nullptr;
    if (component_->get_extension)
      call_plugin(*component_, "get_extension", [&] {
        found = component_->get_extension(to_tenon(id));
        return TENON_OK;
      });
    const auto* extension = static_cast<const Extension*>(found);
    return extension && extension->size >= sizeof(Extension) ? extension : nullptr;
  }

  // body(table) returns a status.
  template <class Body>
  void call(Body&& body, const char* function) const {
    call_plugin(*component_, function, [&] { return body(table()); });
  }
  template <class Body, class What>
  void call(Body&& body, const char* function, What&& what) const {
    call_plugin(
        *component_, function, [&] { return body(table()); }, what);
  }

 private:
  const Component* component_;
  void* self_ = nullptr;
};

}  // namespace tenon::plugins

// An object that a plugin created. The plugin also destroys it, and every call on it is guarded.
#pragma once

#include <string>
#include <utility>

#include <tenon/capture.h>

#include "framework/components/calls/component.h"
#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/calls/parameters.h"
#include "framework/components/calls/ports.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::components {

// Returns an extension table of the component by its id, or null. It is at least as large as `Extension`. Throws Error
// as call_plugin does.
template <class Extension>
const Extension* extension_of(const Component& component, const char* id) {
  const void* found = nullptr;
  if (component.get_extension)
    call_plugin(component, "get_extension", [&] {
      found = component.get_extension(to_tenon(id));
      return TENON_OK;
    });
  const auto* extension = static_cast<const Extension*>(found);
  return extension && extension->size >= sizeof(Extension) ? extension : nullptr;
}

// Table is tenon_model, tenon_dataset, ...; each begins with create and destroy.
template <class Table>
class Instance {
 public:
  // Throws Error as call_plugin does. The text starts with the location of the component in the run file.
  Instance(const Component& component, const config::ComponentPlan& plan)
      : Instance(component, plan, "create", [&](const tenon_params& params, void** self) {
          return table().create(&host_table(), &params, self);
        }) {}

  // create(params, self) calls the plugin's `function`, which creates the object.
  template <class Create>
  Instance(const Component& component, const config::ComponentPlan& plan, const char* function, const Create& create)
      : component_(&component) {
    const tenon_params params(plan.params);
    call([&](const Table&) { return create(params, &self_); }, function, [&] { return plan.place; });
  }
  ~Instance() {
    if (component_) {
      try {
        call_plugin(*component_, "destroy", [&] {
          table().destroy(self_);
          return TENON_OK;
        });
      } catch (const std::exception&) {
        // A destructor cannot report an error, and the run does not depend on it.
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

  // For a table with ports. Throws Error(plugin) for invalid ports or an invalid list of TENON_INDEX_INPUTS.
  PortList read_ports() const {
    const tenon_port* const* ports = nullptr;
    uint64_t count = 0;
    call([&](const Table& table) { return table.ports(self_, &ports, &count); }, "ports");
    PortList list = [&] {
      const ResultScope scope(*component_, "ports, reading its result");
      return components::read_ports(*component_, ports, count);
    }();
    read_index_inputs(list.inputs);
    read_usual_sources(list.inputs);
    return list;
  }

  // The result of a model's or loss's extension TENON_CAPTURE; false without it. Throws Error(plugin).
  bool read_is_capturable() const {
    const auto* const extension = this->extension<tenon_capture>(TENON_CAPTURE);
    if (!extension || !extension->is_capturable) return false;
    uint32_t is_capturable = 0;
    call([&](const Table&) { return extension->is_capturable(self_, &is_capturable); }, "capture.is_capturable");
    return is_capturable != 0;
  }

  template <class Extension>
  const Extension* extension(const char* id) const {
    return extension_of<Extension>(*component_, id);
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
  void read_index_inputs(std::vector<Port>& inputs) const {
    const auto* const extension = this->extension<tenon_index_inputs>(TENON_INDEX_INPUTS);
    if (!extension || !extension->inputs) return;
    const tenon_index_input* const* list = nullptr;
    uint64_t count = 0;
    call([&](const Table&) { return extension->inputs(self_, &list, &count); }, "index_inputs.inputs");
    const ResultScope scope(*component_, "index_inputs.inputs, reading its result");
    components::read_index_inputs(*component_, list, count, inputs);
  }

  void read_usual_sources(std::vector<Port>& inputs) const {
    const auto* const extension = this->extension<tenon_usual_sources>(TENON_USUAL_SOURCES);
    if (!extension || !extension->sources) return;
    const tenon_usual_source* list = nullptr;
    uint64_t count = 0;
    call([&](const Table&) { return extension->sources(self_, &list, &count); }, "usual_sources.sources");
    const ResultScope scope(*component_, "usual_sources.sources, reading its result");
    components::read_usual_sources(*component_, list, count, inputs);
  }

  const Component* component_;
  void* self_ = nullptr;
};

}  // namespace tenon::components

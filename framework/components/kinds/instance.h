// An object that a plugin created. The plugin also destroys it, and every call on it is guarded.
#pragma once

#include <string>
#include <utility>

#include <tenon/capture.h>
#include <tenon/saved_state.h>

#include "framework/components/calls/component.h"
#include "framework/components/calls/guard.h"
#include "framework/components/calls/host_table.h"
#include "framework/components/calls/ports.h"
#include "framework/config/plan/run_plan.h"

namespace tenon::components {

// Returns what the component's get_extension returns for the id; null without this function. Throws Error as
// call_plugin does.
inline const void* find_extension_table(const Component& component, const char* id) {
  const void* found = nullptr;
  if (component.get_extension)
    call_plugin(component, "get_extension", [&] {
      found = component.get_extension(to_tenon(id));
      return TENON_OK;
    });
  return found;
}

// Returns an extension table of the component by its id, or null. It is at least as large as `Extension`. Throws Error
// as call_plugin does.
template <class Extension>
const Extension* extension_of(const Component& component, const char* id) {
  const auto* extension = static_cast<const Extension*>(find_extension_table(component, id));
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
    restore_host_settings(component, function);
  }
  ~Instance() {
    if (!component_) return;
    try {
      call_plugin(*component_, "destroy", [&] {
        table().destroy(self_);
        return TENON_OK;
      });
    } catch (const std::exception&) {
      // A destructor cannot report an error, and the run does not depend on it.
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
    PortList list;
    read_list(table(), &Table::ports, "ports", "ports, reading its result",
              [&](const auto* ports, uint64_t count) { list = components::read_ports(*component_, ports, count); });
    read_extension_list(TENON_INDEX_INPUTS, &tenon_index_inputs::inputs, "index_inputs.inputs",
                        "index_inputs.inputs, reading its result", [&](const auto* inputs, uint64_t count) {
                          read_index_inputs(*component_, inputs, count, list.inputs);
                        });
    read_extension_list(TENON_USUAL_SOURCES, &tenon_usual_sources::sources, "usual_sources.sources",
                        "usual_sources.sources, reading its result", [&](const auto* sources, uint64_t count) {
                          read_usual_sources(*component_, sources, count, list.inputs);
                        });
    return list;
  }

  // The result of a model's or loss's extension TENON_CAPTURE; false without it. Throws Error(plugin).
  bool read_is_capturable() const {
    return read_flag(TENON_CAPTURE, &tenon_capture::is_capturable, "capture.is_capturable");
  }

  // What a function of an extension sets to 0 or 1; false without it. Throws Error(plugin).
  template <class Extension>
  bool read_flag(const char* id, tenon_status (*Extension::*field)(void*, uint32_t*), const char* function) const {
    const auto* const functions = extension<Extension>(id);
    if (!functions || !(functions->*field)) return false;
    uint32_t flag = 0;
    call([&](const Table&) { return (functions->*field)(self_, &flag); }, function);
    return flag != 0;
  }

  // [train] The bytes from tenon_saved_state.save; empty without this extension. Throws Error(plugin).
  std::string save_state() const {
    const auto* const extension = this->extension<tenon_saved_state>(TENON_SAVED_STATE);
    if (!extension) return {};
    tenon_string bytes{};
    call(
        [&](const Table&) {
          const tenon_status status = extension->save(self_, &bytes);
          if (status != TENON_OK || bytes.size == 0 || bytes.data) return status;
          return fail(TENON_FAILED, "returns " + std::to_string(bytes.size) + " bytes, which are NULL");
        },
        "save");
    return to_string(bytes);
  }
  void load_state(const std::string& bytes) const {
    const auto* const extension = this->extension<tenon_saved_state>(TENON_SAVED_STATE);
    if (extension) call([&](const Table&) { return extension->load(self_, to_tenon(bytes)); }, "load");
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

  // Calls a function that returns a list, and read(list, count). `function`: its name. `reading`: a literal,
  // "FUNCTION, reading its result", for the report of a crash.
  template <class Functions, class List, class Read>
  void read_list(const Functions& functions, tenon_status (*Functions::*field)(void*, List*, uint64_t*),
                 const char* function, const char* reading, const Read& read) const {
    List list = nullptr;
    uint64_t count = 0;
    call_plugin(*component_, function, [&] { return (functions.*field)(self_, &list, &count); });
    const ResultScope scope(*component_, reading);
    read(list, count);
  }

  // As read_list(), with a function of an extension. Does nothing without it.
  template <class Extension, class List, class Read>
  void read_extension_list(const char* id, tenon_status (*Extension::*field)(void*, List*, uint64_t*),
                           const char* function, const char* reading, const Read& read) const {
    const auto* const functions = extension<Extension>(id);
    if (functions && functions->*field) read_list(*functions, field, function, reading, read);
  }

 private:
  const Component* component_;
  void* self_ = nullptr;
};

}  // namespace tenon::components

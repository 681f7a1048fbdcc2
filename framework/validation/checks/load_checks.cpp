#include <cstring>

#include <tenon/tenon.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/loading/check_plugin.h"
#include "framework/components/loading/plugin_files.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/support/text/format.h"
#include "framework/validation/checks/checks.h"
#include "framework/validation/session/process_settings.h"

namespace tenon::validation {

namespace {

void check_library(Session& session) { components::inspect_library(session.file(), TENON_ENTRY_SYMBOL); }

void check_entry(Session& session) { call_entry(session.file()); }

void check_entry_keeps_process(Session& session) {
  record_host_descriptors();
  const std::vector<std::string> before = read_process_settings();
  call_entry(session.file());
  const std::string changes = describe_changes(before, read_process_settings());
  if (!changes.empty()) throw Failed("opening the plugin changed " + changes + "; expected it to leave them unchanged");
}

// Far above the size of the structs of any version. A larger size is garbage, or was not set.
constexpr uint64_t kLargest = 1 << 16;

void require_size(uint64_t size, uint64_t smallest, const std::string& what) {
  if (size < smallest || size > kLargest)
    throw Failed("{} declares a size of {} bytes; expected at {}: set size to sizeof the struct", what, size,
                 size < smallest ? fmt::format("least {}", smallest) : fmt::format("most {}", kLargest));
}

void check_component_sizes(const tenon_component& component, const std::string& what) {
  require_size(component.size, TENON_SIZE_TO(tenon_component, table), what);
  if (component.table) {
    uint64_t size = 0;
    std::memcpy(&size, component.table, sizeof size);
    require_size(size, components::required_table_size(component.kind), "the table of " + what);
  }
  for (uint64_t i = 0; component.params && i < component.param_count; ++i)
    if (component.params[i])
      require_size(component.params[i]->size, TENON_SIZE_TO(tenon_param, doc),
                   fmt::format("parameter {} of {}", i, what));
}

// The check `lists` reports null pointers.
void check_sizes(Session& session) {
  const tenon_plugin& plugin = *call_entry(session.file()).plugin;
  require_size(plugin.size, TENON_SIZE_TO(tenon_plugin, torch_build), "the plugin's descriptor");
  for (uint64_t i = 0; plugin.components && i < plugin.component_count; ++i)
    if (plugin.components[i]) check_component_sizes(*plugin.components[i], "component " + std::to_string(i));
}

template <class Element>
void require_list(const Element* const* list, uint64_t count, const std::string& what) {
  constexpr uint64_t kMaxCount = 10000;
  if (count > kMaxCount) throw Failed("{} has a count of {}; expected at most {}", what, count, kMaxCount);
  if (count > 0 && !list) throw Failed("{} has a count of {} but is a null pointer", what, count);
  for (uint64_t i = 0; i < count; ++i)
    if (!list[i]) throw Failed("{} has a null pointer at {}", what, i);
}

void check_lists(Session& session) {
  const tenon_plugin& plugin = *call_entry(session.file()).plugin;
  require_list(plugin.components, plugin.component_count, "the list of components");
  for (uint64_t i = 0; i < plugin.component_count; ++i)
    require_list(plugin.components[i]->params, plugin.components[i]->param_count,
                 "the list of parameters of component " + std::to_string(i));
}

components::PluginInfo read_descriptor(const Session& session) {
  return components::check_plugin(session.file(), call_entry(session.file()).plugin, components::torch_build());
}

void check_components(Session& session) {
  const tenon_plugin& plugin = *call_entry(session.file()).plugin;
  const components::PluginInfo info = read_descriptor(session);
  for (uint64_t i = 0; i < plugin.component_count; ++i) components::check_component(info, plugin.components[i]);
}

void check_operators(Session& session) {
  const components::PluginInfo info = read_descriptor(session);
  if (info.operators.empty()) throw Skipped("it does not declare its operators");
  std::string missing;
  for (const std::string& name : info.operators)
    if (const auto fault = components::find_operator_fault(name, components::host_table()))
      missing += (missing.empty() ? "" : "; ") + *fault;
  if (!missing.empty()) throw Failed("declares operators that this host does not have: " + missing);
}

void check_accepted(Session& session) {
  components::Catalogue::open({session.file()}, components::host_table(), components::torch_build());
}

}  // namespace

std::vector<Check> load_checks() {
  return {{"library", Level::load, {}, check_library},
          {"entry", Level::load, {"library"}, check_entry},
          {"entry-keeps-process", Level::load, {"entry"}, check_entry_keeps_process},
          {"sizes", Level::load, {"entry"}, check_sizes},
          {"lists", Level::load, {"sizes"}, check_lists},
          {"descriptor", Level::load, {"lists"}, read_descriptor},
          {"components", Level::load, {"descriptor"}, check_components},
          {"operators", Level::load, {"descriptor"}, check_operators},
          {"accepted", Level::load, {"components", "operators"}, check_accepted}};
}

}  // namespace tenon::validation

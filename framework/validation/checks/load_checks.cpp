#include "framework/validation/checks/load_checks.h"

#include <cstring>

#include <tenon/tenon.h>

#include "framework/components/calls/host_table.h"
#include "framework/components/loading/catalogue.h"
#include "framework/components/loading/check_plugin.h"
#include "framework/components/loading/inspect_library.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/validation/session/open_plugin.h"
#include "framework/validation/session/process_settings.h"

namespace tenon::validation {

namespace {

void check_library(Session& session) { components::inspect_library(session.file, TENON_ENTRY_SYMBOL); }

void check_entry(Session& session) { call_entry(session.file); }

void check_entry_keeps_process(Session& session) {
  record_host_descriptors();
  const std::vector<std::string> before = read_process_settings();
  call_entry(session.file);
  const std::string changes = describe_changes(before, read_process_settings());
  if (!changes.empty()) throw Failed("opening the plugin changed " + changes + "; expected it to leave them unchanged");
}

// Far above the size of the structs of any version. A larger size is garbage, or was not set.
constexpr uint64_t kLargest = 1 << 16;

void require_size(uint64_t size, uint64_t smallest, const std::string& what) {
  if (size < smallest)
    throw Failed(what + " declares a size of " + std::to_string(size) + " bytes; expected at least " +
                 std::to_string(smallest) + ": set size to sizeof the struct");
  if (size > kLargest)
    throw Failed(what + " declares a size of " + std::to_string(size) + " bytes; expected at most " +
                 std::to_string(kLargest) + ": set size to sizeof the struct");
}

uint64_t smallest_table(uint32_t kind) {
  switch (kind) {
    case TENON_MODEL: return TENON_SIZE_TO(tenon_model, forward);
    case TENON_DATASET: return TENON_SIZE_TO(tenon_dataset, get);
    case TENON_LOSS: return TENON_SIZE_TO(tenon_loss, forward);
    case TENON_METRIC: return TENON_SIZE_TO(tenon_metric, compute);
    default: return TENON_SIZE_TO(tenon_callback, on_event);
  }
}

void check_component_sizes(const tenon_component& component, const std::string& what) {
  require_size(component.size, TENON_SIZE_TO(tenon_component, table), what);
  if (component.table) {
    uint64_t size = 0;
    std::memcpy(&size, component.table, sizeof size);
    require_size(size, smallest_table(component.kind), "the table of " + what);
  }
  for (uint64_t i = 0; component.params && i < component.param_count; ++i)
    if (component.params[i])
      require_size(component.params[i]->size, TENON_SIZE_TO(tenon_param, doc),
                   "parameter " + std::to_string(i) + " of " + what);
}

// The check `lists` reports null pointers.
void check_sizes(Session& session) {
  const tenon_plugin& plugin = *call_entry(session.file).plugin;
  require_size(plugin.size, TENON_SIZE_TO(tenon_plugin, torch_build), "the plugin's descriptor");
  for (uint64_t i = 0; plugin.components && i < plugin.component_count; ++i)
    if (plugin.components[i]) check_component_sizes(*plugin.components[i], "component " + std::to_string(i));
}

template <class Element>
void require_list(const Element* const* list, uint64_t count, const std::string& what) {
  constexpr uint64_t kMaxCount = 10000;
  if (count > kMaxCount)
    throw Failed(what + " has a count of " + std::to_string(count) + "; expected at most " + std::to_string(kMaxCount));
  if (count > 0 && !list) throw Failed(what + " has a count of " + std::to_string(count) + " but is a null pointer");
  for (uint64_t i = 0; i < count; ++i)
    if (!list[i]) throw Failed(what + " has a null pointer at " + std::to_string(i));
}

void check_lists(Session& session) {
  const tenon_plugin& plugin = *call_entry(session.file).plugin;
  require_list(plugin.components, plugin.component_count, "the list of components");
  for (uint64_t i = 0; i < plugin.component_count; ++i)
    require_list(plugin.components[i]->params, plugin.components[i]->param_count,
                 "the list of parameters of component " + std::to_string(i));
}

void check_descriptor(Session& session) {
  components::check_plugin(session.file, call_entry(session.file).plugin, components::torch_build());
}

void check_components(Session& session) {
  open_plugin(session, "");
  for (uint64_t i = 0; i < session.plugin->component_count; ++i)
    components::check_component(*session.info, session.plugin->components[i]);
}

void check_operators(Session& session) {
  open_plugin(session, "");
  if (session.info->operators.empty()) throw Skipped("it does not declare its operators");
  std::string missing;
  for (const std::string& name : session.info->operators) {
    const size_t dot = name.find('.');
    const tenon_op* found = nullptr;
    components::detail::failure.clear();
    const tenon_status status =
        components::host_table().op(components::to_tenon(name.substr(0, dot)),
                                    components::to_tenon(dot == name.npos ? "" : name.substr(dot + 1)), &found);
    if (status != TENON_OK) missing += (missing.empty() ? "" : "; ") + components::detail::failure;
  }
  if (!missing.empty()) throw Failed("declares operators that this host does not have: " + missing);
}

void check_accepted(Session& session) {
  components::Catalogue::open({session.file}, recording_host(), components::torch_build());
}

Check make_load_check(const char* name, std::vector<std::string> needs, void (*run)(Session&)) {
  return {name, Level::load, Check::Of::plugin, {}, std::move(needs), run};
}

}  // namespace

std::vector<Check> load_checks() {
  return {make_load_check("library", {}, check_library),
          make_load_check("entry", {"library"}, check_entry),
          make_load_check("entry-keeps-process", {"entry"}, check_entry_keeps_process),
          make_load_check("sizes", {"entry"}, check_sizes),
          make_load_check("lists", {"sizes"}, check_lists),
          make_load_check("descriptor", {"lists"}, check_descriptor),
          make_load_check("components", {"descriptor"}, check_components),
          make_load_check("operators", {"descriptor"}, check_operators),
          make_load_check("accepted", {"components", "operators"}, check_accepted)};
}

}  // namespace tenon::validation

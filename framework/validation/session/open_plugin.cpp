#include <tenon/plugin.h>

#include "framework/components/calls/forked_process.h"
#include "framework/components/calls/guard.h"
#include "framework/components/loading/check_plugin.h"
#include "framework/components/loading/shared_library.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/config/resolve/resolve_params.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/files/files.h"
#include "framework/validation/session/check.h"
#include "framework/validation/session/open_plugin.h"
#include "framework/validation/session/process_settings.h"
#include "framework/validation/session/session.h"

#ifndef TENON_VERSION
#error "TENON_VERSION is defined by the build"
#endif

namespace tenon::validation {

using support::Error;
using support::ErrorKind;

std::string name_of(const components::Component& component) {
  return std::string(config::to_string(component.schema.kind)) + "." + component.schema.id;
}

tenon_reply call_entry(const std::filesystem::path& file) {
  const components::ResultScope scope(file.c_str());
  record_host_descriptors();
  record_call("the loader, or an initialiser of the library", "");
  const auto entry = reinterpret_cast<tenon_plugin_open_function>(components::open_symbol(file, TENON_ENTRY_SYMBOL));
  tenon_offer offer{};
  offer.abi_min = TENON_ABI_OLDEST;
  offer.abi_max = TENON_ABI_CURRENT;
  offer.host = &recording_host();
  offer.host_version = components::to_tenon(TENON_VERSION);
  tenon_reply reply{};
  tenon_status status = TENON_OK;
  record_call(TENON_ENTRY_SYMBOL, "");
  try {
    status = entry(&offer, &reply);
  } catch (...) {
    throw Failed(TENON_ENTRY_SYMBOL " threw an exception; expected a status");
  }
  components::detail::check_forks_of_opening(file);
  clear_call_record();
  // A plugin that rejects the host's version still reports its range of versions.
  if (reply.abi_max != 0 || status == TENON_OK) components::negotiate_abi(file, reply);
  if (status != TENON_OK)
    throw Failed(TENON_ENTRY_SYMBOL " returned " + std::to_string(status) + ": " + components::detail::failure);
  if (!reply.plugin)
    throw Failed(TENON_ENTRY_SYMBOL " returned no plugin (null); expected a plugin, or an error status");
  return reply;
}

config::ComponentPlan plan_of(const components::Component& component, const std::vector<GivenParams>& given) {
  const std::string name = name_of(component);
  const std::string option = "--params " + name;
  const config::Node::Table* table = nullptr;
  std::optional<config::Node> node;
  for (const GivenParams& one : given) {
    if (one.component != name) continue;
    node = config::parse_toml_value(one.table, config::SourceLocation{option, 0, 0});
    table = node ? node->as_table() : nullptr;
    if (!table)
      throw Error(ErrorKind::configuration,
                  option + ": `" + one.table + "` is not a TOML table; expected a table such as { classes = 10 }");
  }
  static const config::Node::Table kNothing;
  config::ComponentPlan plan;
  plan.use = component.schema.id;
  plan.place = option;
  const config::SourceLocation place{option, 0, 0};
  config::Diagnostics diagnostics;
  config::RunConfig run;
  run.folder = support::find_working_folder(ErrorKind::configuration);
  const config::ParamsRequest question{
      component.schema.id, component.schema.params, table ? *table : kNothing, "params", place, run};
  plan.params = config::resolve_params(question, diagnostics);
  diagnostics.throw_if_any();
  return plan;
}

void open_plugin(Session& session, const std::string& component) {
  const tenon_reply reply = call_entry(session.file);
  session.plugin = reply.plugin;
  session.info = std::make_unique<components::PluginInfo>(
      components::check_plugin(session.file, reply.plugin, components::torch_build()));
  if (component.empty()) return;
  for (uint64_t i = 0; i < reply.plugin->component_count; ++i) {
    components::Component each = components::check_component(*session.info, reply.plugin->components[i]);
    if (name_of(each) == component) session.component = std::move(each);
  }
  if (!session.component.table)
    throw Error(ErrorKind::configuration, session.file.string() + ": there is no " + component + " in it");
  session.plan = plan_of(session.component, session.given);
}

}  // namespace tenon::validation

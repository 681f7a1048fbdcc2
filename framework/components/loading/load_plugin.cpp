#include "framework/components/loading/load_plugin.h"

#include <future>
#include <set>

#include "framework/components/calls/guard.h"
#include "framework/components/calls/kept_settings.h"
#include "framework/components/loading/check_plugin.h"
#include "framework/components/loading/shared_library.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/process/signals_blocked.h"
#include "framework/support/text/format.h"

#ifndef TENON_VERSION
#error "TENON_VERSION is defined by the build"
#endif

namespace tenon::components {

namespace fs = std::filesystem;
using config::ComponentKind;
using support::Error;
using support::ErrorKind;

namespace {

[[noreturn]] void refuse(const fs::path& file, const std::string& what) {
  throw Error(ErrorKind::plugin, file.string() + ": " + what);
}

// The entry is code of the plugin. It runs before there is a component to name.
tenon_reply call_entry(const fs::path& file, const tenon_host& host) {
  const auto entry = reinterpret_cast<tenon_plugin_open_function>(open_symbol(file, TENON_ENTRY_SYMBOL));
  tenon_offer offer{};
  offer.abi_min = TENON_ABI_OLDEST;
  offer.abi_max = TENON_ABI_CURRENT;
  offer.host = &host;
  offer.host_version = to_tenon(TENON_VERSION);
  tenon_reply reply{};
  tenon_status status = TENON_OK;
  detail::failure.clear();
  try {
    status = entry(&offer, &reply);
  } catch (...) {
    refuse(file, TENON_ENTRY_SYMBOL " threw an exception; expected a status");
  }
  // A plugin that rejects the host's version still reports its range. The message with both ranges is more useful.
  if (reply.abi_max != 0) negotiate_abi(file, reply);
  if (status != TENON_OK)
    refuse(file, TENON_ENTRY_SYMBOL " failed: " +
                     (detail::failure.empty() ? "status " + std::to_string(status) : detail::failure));
  if (!reply.plugin) refuse(file, TENON_ENTRY_SYMBOL " returned no plugin (null)");
  return reply;
}

// Missing operators must fail here, not in the middle of a run.
void require_operators(const fs::path& file, const PluginDescription& plugin, const tenon_host& host) {
  for (const std::string& name : plugin.operators)
    if (const auto fault = find_operator_fault(name, host))
      refuse(file,
             fmt::format("calls the operator {}: {}; it needs a host with a newer LibTorch, or one that still has it",
                         name, *fault));
}

// Without its LibTorch version, the plugin cannot be compared with the host. With a different version it would crash in
// a later call.
void require_torch_build_said(const PluginFile& file, const PluginDescription& plugin) {
  if (!plugin.torch_build.empty() || file.libtorch.empty()) return;
  refuse(file.file, fmt::format("links LibTorch but does not declare its version: build it with tenon_add_plugin(NAME "
                                "TORCH ...), or without {}",
                                file.libtorch.front()));
}

}  // namespace

tenon_reply open_plugin(const fs::path& file, const tenon_host& host) {
  try {
    const tenon_reply reply = call_entry(file, host);
    detail::check_forks_of_opening(file);
    return reply;
  } catch (const Error&) {
    detail::check_forks_of_opening(file);  // a process that the plugin forked must not report the error too
    throw;
  }
}

LoadedPlugin load_plugin(const PluginFile& file, const tenon_host& host, const std::string& torch_build) {
  const ResultScope scope(file.file.c_str());
  // On another thread, because it takes about as long as the rest.
  auto sha256 = [&] {
    const support::SignalsBlocked signals_blocked;
    return std::async(std::launch::async, [&] { return read_plugin_sha256(file.file); });
  }();
  record_host_settings();
  const uint64_t arithmetic = support::read_arithmetic_modes();
  const tenon_reply reply = open_plugin(file.file, host);
  restore_host_settings(file.file.string(), "the opening of " + file.file.string(), arithmetic);
  const uint32_t abi = negotiate_abi(file.file, reply);
  LoadedPlugin plugin{std::make_unique<PluginInfo>(check_plugin(file.file, reply.plugin, torch_build)), {}};
  PluginInfo& info = *plugin.info;
  info.abi = abi;
  info.abi_min = reply.abi_min;
  info.abi_max = reply.abi_max;
  info.sha256 = sha256.get();
  require_operators(file.file, info, host);
  require_torch_build_said(file, info);
  std::set<config::ComponentName> seen;
  for (uint64_t i = 0; i < reply.plugin->component_count; ++i) {
    const Component& component = plugin.components.emplace_back(check_component(info, reply.plugin->components[i]));
    info.components.push_back(component.schema);
    if (!seen.insert({component.schema.kind, component.schema.id}).second)
      refuse(file.file, fmt::format("{} \"{}\" is declared twice; rename one", config::to_string(component.schema.kind),
                                    component.schema.id));
  }
  return plugin;
}

std::optional<std::string> find_operator_fault(const std::string& name, const tenon_host& host) {
  const size_t dot = name.find('.');
  const std::string operator_name = name.substr(0, dot), overload = dot == name.npos ? "" : name.substr(dot + 1);
  const tenon_op* found = nullptr;
  detail::failure.clear();
  if (host.op(to_tenon(operator_name), to_tenon(overload), &found) == TENON_OK) return std::nullopt;
  return detail::failure;
}

uint32_t require_fitting(const PluginFile& file, const PluginDescription& plugin, const tenon_host& host,
                         const std::string& torch_build) {
  const uint32_t abi = negotiate_abi(file.file, {plugin.abi_min, plugin.abi_max, nullptr});
  require_torch_build(file.file, plugin.torch_build, torch_build);
  require_operators(file.file, plugin, host);
  require_torch_build_said(file, plugin);
  return abi;
}

}  // namespace tenon::components

// Loads a plugin from its file and checks its tables.
#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "framework/components/calls/component.h"
#include "framework/components/loading/plugin_files.h"

namespace tenon::components {

struct LoadedPlugin {
  std::unique_ptr<PluginInfo> info;
  std::vector<Component> components;  // kind and id are unique; each points to `info`
};

// Opens the file and calls its entry, which returns a plugin. Throws Error(plugin) with the file.
tenon_reply open_plugin(const std::filesystem::path& file, const tenon_host& host);

// Opens the file, calls its entry and checks the complete result. `torch_build`: the LibTorch of this host, which
// native plugins must match in its minor version; see native_torch.h. Throws Error(plugin) with the file unless it is a
// valid plugin. Ignores the file's note.
LoadedPlugin load_plugin(const PluginFile& file, const tenon_host& host, const std::string& torch_build);

// Returns why the host cannot call an operator, "aten::add.Tensor"; nothing if it can.
std::optional<std::string> find_operator_fault(const std::string& name, const tenon_host& host);

// Checks a plugin's requirements on a host, from its tables or its note: ABI versions, LibTorch, operators. Returns the
// ABI version that both sides use. Throws Error(plugin) with the file if this host does not satisfy them.
uint32_t require_fitting(const PluginFile& file, const PluginDescription& plugin, const tenon_host& host,
                         const std::string& torch_build);

}  // namespace tenon::components

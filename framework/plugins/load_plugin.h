// A plugin from its file to tables that were checked.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "framework/plugins/component.h"
#include "framework/plugins/plugin_files.h"

namespace tenon::plugins {

struct LoadedPlugin {
  std::unique_ptr<PluginInfo> info;
  std::vector<Component> components;  // no two of one kind and id; each points to `info`
};

// Opens the file, calls its entry and checks all that it answers with. `torch_build`: the LibTorch of this host, which
// native plugins must match exactly; see native_torch.h. Throws Error(plugin) naming the file unless it is a sound
// plugin. Does not look at the file's note.
LoadedPlugin load_plugin(const PluginFile& file, const tenon_host& host, const std::string& torch_build);

// What a plugin asks of a host, whoever says it, the tables or the note: versions, LibTorch, operators. Gives the ABI
// version that both sides use. Throws Error(plugin) naming the file if this host cannot give that.
uint32_t require_fitting(const PluginFile& file, const PluginDescription& plugin, const tenon_host& host,
                         const std::string& torch_build);

}  // namespace tenon::plugins

// Checks of an opened plugin before the first call of one of its functions.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

#include <tenon/plugin.h>

#include "framework/components/calls/component.h"

namespace tenon::components {

// Returns the ABI version that both sides use. Throws Error(plugin) with both ranges if there is none.
uint32_t negotiate_abi(const std::filesystem::path& file, const tenon_reply& reply);
std::string describe_abi(uint32_t version);  // "1.0"

// Throws Error(plugin) for a native plugin (one that names a LibTorch) that was built with a different LibTorch.
// Whether a plugin that says this build ("2.11.0+cu130,cxx11abi=1"; empty: portable) can use that LibTorch: both have
// the same minor version and the same ABI of the standard library. Patch releases and the variants for CPUs and CUDA
// have the same C++ interface.
bool fits_torch_build(const std::string& said, const std::string& torch_build);
// Throws Error(plugin) otherwise.
void require_torch_build(const std::filesystem::path& file, const std::string& said, const std::string& torch_build);

// Checks the descriptor (sizes, texts, licence, native build) and returns its contents. Throws Error(plugin) with the
// file and the field.
PluginInfo check_plugin(const std::filesystem::path& file, const tenon_plugin* plugin, const std::string& torch_build);

// The bytes that the table of a component of this kind must have at least, TENON_MODEL etc.
uint64_t required_table_size(uint32_t kind);

// Checks one component (kind, id, schema, table's size and functions) and returns it. Throws Error(plugin).
Component check_component(const PluginInfo& plugin, const tenon_component* component);

}  // namespace tenon::components

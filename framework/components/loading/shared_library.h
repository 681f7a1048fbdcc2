// Opens shared libraries, which stay open until the process ends.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <filesystem>
#include <span>
#include <string>

namespace tenon::components {

// Opens the file with RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE and returns the address of `symbol`. The library is never
// closed: LibTorch's operator registries and Boost.DLL both crash when code they point to goes away (pytorch#61111).
// Throws Error(plugin) with the file if it cannot be loaded (with the loader's message) or has no such symbol.
void* open_symbol(const std::filesystem::path& file, const char* symbol);

// Throws Error(plugin) for a file that is not a plugin, although it may be a library.
[[noreturn]] void throw_without_symbol(const std::filesystem::path& file, const std::string& symbol);

// The code and the data of an opened plugin, so that the report of a crash can name a plugin by an address. Plugins are
// never closed, so this stays valid until the process ends.
struct PluginCode {
  const char* file = nullptr;
  uintptr_t begin = 0, end = 0;
  // The file when it was opened.
  dev_t device = 0;
  ino_t inode = 0;
  off_t bytes = 0;
  timespec modified{};

  // Whether the content of the file has changed in place, which changes the code in memory. A new file under the same
  // name does not. [signal handler]
  bool is_changed() const noexcept;
};

// The recorded plugins. [signal handler]
std::span<const PluginCode> plugin_codes() noexcept;

// Returns the plugin at the address; null: none. [signal handler]
const PluginCode* find_plugin_code(uintptr_t address) noexcept;

}  // namespace tenon::components

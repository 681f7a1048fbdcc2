// The addresses of the opened plugins, so that the report of a crash can name a plugin by an address.
#pragma once

#include <sys/types.h>

#include <cstdint>
#include <ctime>
#include <filesystem>

namespace tenon::components {

// The code and the data of an opened plugin. Plugins are never closed, so this stays valid until the process ends.
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

// Records the plugin that contains `symbol`. Further plugins than 256 are not recorded. [any thread]
void record_plugin_code(const std::filesystem::path& file, const void* symbol);

// The recorded plugins. [signal handler]
const PluginCode* begin_plugin_codes() noexcept;
const PluginCode* end_plugin_codes() noexcept;

// Returns the plugin at the address; null: none. [signal handler]
const PluginCode* find_plugin_code(uintptr_t address) noexcept;

}  // namespace tenon::components

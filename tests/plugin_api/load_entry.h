// The entry points of bundled plugins.
#pragma once

#include <dlfcn.h>

#include <doctest/doctest.h>

#include <tenon/abi.h>
#include <string>

namespace tenon::test {

// Returns the entry point of a plugin by its name. The plugin stays loaded.
inline tenon_plugin_open_function load_entry(const std::string& plugin) {
  const std::string file = TENON_BINARY_DIR "/plugins/" + plugin + ".so";
  void* library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  REQUIRE_MESSAGE(library != nullptr, dlerror());
  const auto entry = reinterpret_cast<tenon_plugin_open_function>(dlsym(library, TENON_ENTRY_SYMBOL));
  REQUIRE((entry != nullptr));
  return entry;
}

}  // namespace tenon::test

// Opens shared libraries, which stay open until the process ends.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::components {

// Opens the file with RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE and returns the address of `symbol`. The library is never
// closed: LibTorch's operator registries and Boost.DLL both crash when code they point to goes away (pytorch#61111).
// Throws Error(plugin) with the file if it cannot be loaded (with the loader's message) or has no such symbol.
void* open_symbol(const std::filesystem::path& file, const char* symbol);

// Throws Error(plugin) for a file that is not a plugin, although it may be a library.
[[noreturn]] void throw_without_symbol(const std::filesystem::path& file, const std::string& symbol);

}  // namespace tenon::components

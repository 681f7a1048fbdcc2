// A shared library that was opened once and stays open until the process ends.
#pragma once

#include <filesystem>
#include <string>

namespace tenon::plugins {

// Opens the file with RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE and returns the address of `symbol`. The library is never
// closed: LibTorch's operator registries and Boost.DLL both crash when code they point to goes away (pytorch#61111).
// Throws Error(plugin) naming the file: it cannot be loaded (with the loader's words), or it has no such symbol.
void* open_symbol(const std::filesystem::path& file, const char* symbol);

// Throws Error(plugin): the file, which may well be a library, is not a plugin.
[[noreturn]] void throw_without_symbol(const std::filesystem::path& file, const std::string& symbol);

}  // namespace tenon::plugins

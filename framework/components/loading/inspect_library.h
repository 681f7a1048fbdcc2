// Inspects a plugin's file before any of its code runs. The loader runs initialisers as soon as it opens a library.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenon::components {

struct LibraryInfo {
  std::vector<std::string> needed;  // DT_NEEDED: the libraries that the loader would open for it, in order
  std::optional<std::string> note;  // the text of its note, if it has one; unchecked, see plugin_note.h
};

// Reads the file's headers without mapping or running it. Throws Error(plugin) unless it is a complete ELF64
// little-endian shared library for this machine that exports the function `symbol`, in a regular file that no other
// user can write (see write_permission.h). The error states the file, what was found, what was expected and what to do.
LibraryInfo inspect_library(const std::filesystem::path& file, const std::string& symbol);

// The libraries that belong to LibTorch: libtorch*, libc10*, with or without a folder before the name.
std::vector<std::string> find_libtorch(const std::vector<std::string>& needed);

}  // namespace tenon::components

// What can be known of a plugin's file before any code of it runs: the loader runs initialisers as soon as it opens
// one.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenon::plugins {

struct LibraryFacts {
  std::vector<std::string> needed;  // DT_NEEDED: the libraries that the loader would open for it, in order
  std::optional<std::string> note;  // what it says of itself, if it has a note; unchecked, see plugin_note.h
};

// Reads the file's headers without mapping or running it, whatever is in it. Throws Error(plugin) naming file, found,
// expected and way out, unless it is a regular file that nobody else can write (the rule and its reasons:
// who_may_write.h), an ELF64 little-endian shared library for this machine, all there, that exports the function
// `symbol`.
LibraryFacts inspect_library(const std::filesystem::path& file, const std::string& symbol);

// Those of the libraries that are LibTorch's: libtorch*, libc10*, also with a folder before the name.
std::vector<std::string> find_libtorch(const std::vector<std::string>& needed);

}  // namespace tenon::plugins

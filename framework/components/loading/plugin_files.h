// Finds and inspects the files of plugins before any of their code runs. The loader runs initialisers as soon as it
// opens a library.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/components/calls/component.h"
#include "framework/config/plan/run_plan.h"
#include "framework/support/files/installation.h"

namespace tenon::components {

// In the order of precedence: --plugin-dir, the run file's [plugins] paths, $TENON_PLUGIN_PATH (colon-separated), the
// user's library directory (~/.local/lib/tenon/plugins), those of the installation (PREFIX/lib/tenon/plugins and
// plugins/ of the engine's folder) and PREFIX/plugins (a build tree). Canonical, without repetitions. Throws
// Error(plugin) if a directory that the user named does not exist. The others are skipped if they do not exist.
std::vector<std::filesystem::path> find_plugin_directories(const std::vector<std::filesystem::path>& from_command_line,
                                                           const std::vector<std::filesystem::path>& from_run_file,
                                                           const support::Installation& installation);

// Those of the installation alone, canonical.
std::vector<std::filesystem::path> list_bundled_directories(const support::Installation& installation);

// Every *.so of the directories (and files named directly), each once, in byte order of their names.
std::vector<std::filesystem::path> list_plugin_files(const std::vector<std::filesystem::path>& directories);

// For messages about what was not found: "searched a, b".
std::string describe_search(const std::vector<std::filesystem::path>& directories);

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

// A file that may be opened.
struct PluginFile {
  std::filesystem::path file;
  std::vector<std::string> libtorch;      // the libraries of LibTorch that it links
  std::optional<PluginDescription> note;  // none also if its format is newer than this host reads
};

enum class Notes { read, passed_by };

// Runs inspect_library(), then checks the digest if a pin has the name of the file, then reads the note. Throws
// Error(plugin) for a file that must not be opened, a digest that differs from the pin, or a damaged note.
PluginFile inspect_plugin_file(const std::filesystem::path& file, const std::vector<config::PluginPin>& pins = {},
                               Notes notes = Notes::read);

// Returns the digest of the file. Throws Error(plugin) if it cannot be read.
std::string read_plugin_sha256(const std::filesystem::path& file);

// A file that was refused, for listings.
struct Refusal {
  std::filesystem::path file;
  std::string reason;  // names the file
};

// Throws Error(plugin): both files have a component of this kind and id.
[[noreturn]] void throw_in_two_plugins(config::ComponentKind kind, const std::string& id,
                                       const std::filesystem::path& first, const std::filesystem::path& second);

}  // namespace tenon::components

#include "framework/components/loading/plugin_files.h"

#include <fcntl.h>
#include <sys/stat.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <set>
#include <sstream>
#include <stdexcept>

#include <tenon/plugin.h>

#include "framework/components/loading/elf_image.h"
#include "framework/components/loading/plugin_note.h"
#include "framework/components/loading/shared_library.h"
#include "framework/components/loading/write_permission.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/digests/sha256.h"
#include "framework/support/files/file_descriptor.h"
#include "framework/support/files/files.h"

namespace tenon::components {
namespace {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

std::vector<fs::path> split_path_list(const char* list) {
  std::vector<fs::path> paths;
  std::istringstream stream(list ? list : "");
  for (std::string entry; std::getline(stream, entry, ':');)
    if (!entry.empty()) paths.emplace_back(entry);
  return paths;
}

bool is_plugin_path(const fs::path& path) {
  return support::is_folder(path) || (path.extension() == ".so" && support::is_file(path));
}

std::vector<fs::path> list_libraries(const fs::path& directory) {
  if (!support::is_folder(directory)) return {directory};  // a plugin file that was named directly
  std::vector<fs::path> files;
  for (const fs::path& path : support::list_folder(directory, ErrorKind::plugin)) {
    if (path.extension() != ".so") continue;
    if (support::is_file(path))
      files.push_back(support::find_canonical(path, ErrorKind::plugin));
    else if (!support::path_exists(path))
      files.push_back(path);  // a symbolic link without a target: the error when it is read names the path
  }
  std::sort(files.begin(), files.end());
  return files;
}

void require_pinned_digest(const fs::path& file, const std::vector<config::PluginPin>& pins) {
  for (const config::PluginPin& pin : pins) {
    if (pin.file != file.filename()) continue;
    const std::string sha256 = read_plugin_sha256(file);
    if (pin.sha256 != sha256)
      throw Error(ErrorKind::plugin, "{}: has the SHA-256 {}; expected {}, as {} pins it: restore that file, or {}",
                  file.string(), sha256, pin.sha256, pin.place, pin.remedy);
  }
}

class Opened {
 public:
  // Without O_NONBLOCK, opening a pipe would block the host until another process writes to it.
  explicit Opened(const fs::path& path)
      : descriptor_(support::retry_interrupted(
            [&] { return open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY); })) {
    if (!descriptor_.is_open() || fstat(descriptor_.number(), &status_) != 0) failure_ = errno;
  }

  int failure() const { return failure_; }  // errno; 0: it is open
  int descriptor() const { return descriptor_.number(); }
  const struct stat& status() const { return status_; }

 private:
  support::FileDescriptor descriptor_;
  struct stat status_ {};
  int failure_ = 0;
};

[[noreturn]] void refuse_library(const fs::path& file, const std::string& found) {
  throw Error(ErrorKind::plugin,
              "{}: {}; expected a whole shared library for this machine ({}, 64-bit little-endian ELF): build or "
              "copy it again, or move the file out of the plugin directory",
              support::format_path(file), found, this_machine());
}

const char* describe_kind(mode_t mode) {
  if (S_ISDIR(mode)) return "a directory";
  if (S_ISFIFO(mode)) return "a pipe";
  if (S_ISSOCK(mode)) return "a socket";
  return "a device";
}

}  // namespace

std::string read_plugin_sha256(const fs::path& file) {
  try {
    return support::read_sha256(file);
  } catch (const Error& error) {
    throw Error(ErrorKind::plugin, error.what());
  }
}

std::vector<fs::path> find_plugin_directories(const std::vector<fs::path>& from_command_line,
                                              const std::vector<fs::path>& from_run_file,
                                              const support::Installation& installation) {
  std::vector<fs::path> found;
  const auto add = [&](const fs::path& path) {
    const fs::path canonical = support::find_canonical(path, ErrorKind::plugin);
    if (std::find(found.begin(), found.end(), canonical) == found.end()) found.push_back(canonical);
  };
  const auto add_named = [&](const std::vector<fs::path>& paths, const std::string& source) {
    for (const fs::path& path : paths) {
      if (!support::path_exists(path))
        throw Error(ErrorKind::plugin, "{}: {} {}; expected a directory of plugins or a plugin file{}", source,
                    support::format_path(path), support::describe_path(path),
                    support::suggest_path(path, is_plugin_path));
      add(path);
    }
  };
  add_named(from_command_line, "--plugin-dir");
  add_named(from_run_file, "[plugins] paths");
  add_named(split_path_list(std::getenv("TENON_PLUGIN_PATH")), "TENON_PLUGIN_PATH");
  if (const char* home = std::getenv("HOME"); home && *home)
    if (const fs::path path = fs::path(home) / ".local/lib/tenon/plugins"; support::is_folder(path)) add(path);
  for (const fs::path& path : list_bundled_directories(installation)) add(path);
  return found;
}

std::vector<fs::path> list_bundled_directories(const support::Installation& installation) {
  std::vector<fs::path> found;
  for (const fs::path& path : {installation.prefix / "lib/tenon/plugins", installation.engine_folder / "plugins",
                               installation.prefix / "plugins"})
    if (support::is_folder(path)) found.push_back(support::find_canonical(path, ErrorKind::plugin));
  return found;
}

std::vector<fs::path> list_plugin_files(const std::vector<fs::path>& directories) {
  std::vector<fs::path> files;
  std::set<fs::path> seen;
  for (const fs::path& directory : directories)
    for (const fs::path& file : list_libraries(directory))
      if (seen.insert(file).second) files.push_back(file);
  return files;
}

std::string describe_search(const std::vector<fs::path>& directories) {
  if (directories.empty()) return "no plugin directory was found: give one with --plugin-dir";
  std::string text = "searched";
  for (const fs::path& directory : directories)
    text += (&directory == &directories.front() ? " " : ", ") + directory.string();
  return text;
}

PluginFile inspect_plugin_file(const fs::path& file, const std::vector<config::PluginPin>& pins, Notes notes) {
  const LibraryInfo info = inspect_library(file, TENON_ENTRY_SYMBOL);
  PluginFile inspected{file, find_libtorch(info.needed), std::nullopt};
  require_pinned_digest(file, pins);
  if (info.note && notes == Notes::read) inspected.note = parse_note(file, *info.note);
  return inspected;
}

void throw_in_two_plugins(config::ComponentKind kind, const std::string& id, const fs::path& first,
                          const fs::path& second) {
  throw Error(ErrorKind::plugin, "{} \"{}\" is in two plugins: {} and {}; remove one, or rename its id",
              config::to_string(kind), id, first.string(), second.string());
}

LibraryInfo inspect_library(const fs::path& file, const std::string& symbol) {
  const Opened opened(file);
  if (opened.failure() != 0) refuse_library(file, std::string("cannot be read: ") + std::strerror(opened.failure()));
  if (!S_ISREG(opened.status().st_mode))
    refuse_library(file, std::string("is ") + describe_kind(opened.status().st_mode));
  LibraryInfo info;
  bool has_symbol = false;
  try {
    require_no_other_writer(file);
    const ElfImage image(opened.descriptor(), static_cast<uint64_t>(opened.status().st_size));
    has_symbol = image.exports_function(symbol);
    info.needed = image.needed();
    info.note = read_note_section(image);
  } catch (const std::invalid_argument& found) {
    refuse_library(file, found.what());
  }
  if (!has_symbol) throw_without_symbol(file, symbol);
  return info;
}

std::vector<std::string> find_libtorch(const std::vector<std::string>& needed) {
  std::vector<std::string> found;
  for (const std::string& library : needed) {
    const std::string name = fs::path(library).filename().string();
    if (name.starts_with("libtorch") || name.starts_with("libc10")) found.push_back(library);
  }
  return found;
}

}  // namespace tenon::components

#include "framework/components/loading/plugin_files.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include <tenon/plugin.h>

#include "framework/components/loading/inspect_library.h"
#include "framework/components/loading/plugin_note.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/digests/sha256.h"
#include "framework/support/files/files.h"
#include "framework/support/files/nearest_path.h"

namespace tenon::components {

namespace fs = std::filesystem;
using support::Error;
using support::ErrorKind;

namespace {

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
      throw Error(ErrorKind::plugin, file.string() + ": has the SHA-256 " + sha256 + "; expected " + pin.sha256 +
                                         ", as " + pin.place +
                                         " pins it: restore that file, or pin the new one if you trust it");
  }
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
                                              const fs::path& host_executable) {
  std::vector<fs::path> found;
  const auto add = [&](const fs::path& path) {
    const fs::path canonical = support::find_canonical(path, ErrorKind::plugin);
    if (std::find(found.begin(), found.end(), canonical) == found.end()) found.push_back(canonical);
  };
  const auto add_named = [&](const std::vector<fs::path>& paths, const std::string& source) {
    for (const fs::path& path : paths) {
      if (!support::path_exists(path))
        throw Error(ErrorKind::plugin, source + ": " + support::print_path(path) + " " + support::describe_path(path) +
                                           "; expected a directory of plugins or a plugin file" +
                                           support::suggest_path(path, is_plugin_path));
      add(path);
    }
  };
  add_named(from_command_line, "--plugin-dir");
  add_named(from_run_file, "[plugins] paths");
  add_named(split_path_list(std::getenv("TENON_PLUGIN_PATH")), "TENON_PLUGIN_PATH");
  const fs::path prefix = host_executable.parent_path().parent_path();
  std::vector<fs::path> usual;
  if (const char* home = std::getenv("HOME"); home && *home)
    usual.push_back(fs::path(home) / ".local/lib/tenon/plugins");
  usual.push_back(prefix / "lib/tenon/plugins");
  usual.push_back(prefix / "plugins");
  for (const fs::path& path : usual)
    if (support::is_folder(path)) add(path);
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
  throw Error(ErrorKind::plugin, std::string(config::to_string(kind)) + " \"" + id + "\" is in two plugins: " +
                                     first.string() + " and " + second.string() + "; remove one, or rename its id");
}

}  // namespace tenon::components

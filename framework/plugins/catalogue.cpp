#include "framework/plugins/catalogue.h"

#include <algorithm>
#include <cstdlib>
#include <set>
#include <sstream>

#include "framework/plugins/check_plugin.h"
#include "framework/plugins/guard.h"
#include "framework/plugins/inspect_library.h"
#include "framework/plugins/shared_library.h"
#include "framework/support/error.h"
#include "framework/support/nearest_name.h"
#include "framework/support/sha256.h"

#ifndef TENON_VERSION
#error "TENON_VERSION is defined by the build"
#endif

namespace tenon::plugins {

namespace fs = std::filesystem;
using config::ComponentKind;
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

std::vector<fs::path> list_libraries(const fs::path& directory) {
  if (!fs::is_directory(directory)) return {directory};  // a plugin file that was named directly
  std::vector<fs::path> files;
  for (const fs::directory_entry& entry : fs::directory_iterator(directory))
    if (entry.path().extension() == ".so" && entry.is_regular_file()) files.push_back(fs::canonical(entry.path()));
  std::sort(files.begin(), files.end());
  return files;
}

// Of all directories, each file once.
std::vector<fs::path> list_all_libraries(const std::vector<fs::path>& directories) {
  std::vector<fs::path> files;
  std::set<fs::path> seen;
  for (const fs::path& directory : directories)
    for (const fs::path& file : list_libraries(directory))
      if (seen.insert(file).second) files.push_back(file);
  return files;
}

// A pin that pins nothing protects nothing: most likely its name is misspelt.
void require_pinned_files(const std::vector<fs::path>& files, const std::vector<config::PluginPin>& pins,
                          const std::string& search) {
  std::set<std::string> names;
  for (const fs::path& file : files) names.insert(file.filename().string());
  for (const config::PluginPin& pin : pins)
    if (!names.contains(pin.file))
      throw Error(ErrorKind::plugin, pin.place + ": plugins.sha256 names the file \"" + pin.file +
                                         "\", which was not found" +
                                         support::suggest_name(pin.file, {names.begin(), names.end()}) + " (" + search +
                                         "); correct the name, or remove it");
}

void require_pinned_digest(const fs::path& file, const std::string& sha256,
                           const std::vector<config::PluginPin>& pins) {
  for (const config::PluginPin& pin : pins)
    if (pin.file == file.filename() && pin.sha256 != sha256)
      throw Error(ErrorKind::plugin, file.string() + ": has the SHA-256 " + sha256 + "; expected " + pin.sha256 +
                                         ", as " + pin.place +
                                         " pins it: bring back that file, or pin the new one if you trust it");
}

// The entry is foreign code that runs before there is a component to name.
tenon_reply call_entry(const fs::path& file, const tenon_host& host) {
  const auto entry = reinterpret_cast<tenon_plugin_open_function>(open_symbol(file, TENON_ENTRY_SYMBOL));
  tenon_offer offer{};
  offer.abi_min = TENON_ABI_OLDEST;
  offer.abi_max = TENON_ABI_CURRENT;
  offer.host = &host;
  offer.host_version = to_tenon(TENON_VERSION);
  tenon_reply reply{};
  tenon_status status = TENON_OK;
  detail::failure.clear();
  try {
    status = entry(&offer, &reply);
  } catch (...) {
    throw Error(ErrorKind::plugin,
                file.string() + ": " TENON_ENTRY_SYMBOL " let an exception escape; expected a status");
  }
  // A plugin that refuses because of the versions still says its range: the message about both is the better one.
  if (reply.abi_max != 0) negotiate_abi(file, reply);
  if (status != TENON_OK)
    throw Error(ErrorKind::plugin,
                file.string() + ": " TENON_ENTRY_SYMBOL " failed: " +
                    (detail::failure.empty() ? "status " + std::to_string(status) : detail::failure));
  if (!reply.plugin) throw Error(ErrorKind::plugin, file.string() + ": " TENON_ENTRY_SYMBOL " gave no plugin (null)");
  return reply;
}

}  // namespace

std::vector<fs::path> find_plugin_directories(const std::vector<fs::path>& from_command_line,
                                              const std::vector<fs::path>& from_run_file,
                                              const fs::path& host_executable) {
  std::vector<fs::path> found;
  const auto add = [&](const fs::path& path) {
    const fs::path canonical = fs::canonical(path);
    if (std::find(found.begin(), found.end(), canonical) == found.end()) found.push_back(canonical);
  };
  const auto add_named = [&](const std::vector<fs::path>& paths, const std::string& source) {
    for (const fs::path& path : paths) {
      if (!fs::exists(path))
        throw Error(ErrorKind::plugin, source + ": " + path.string() +
                                           " does not exist; expected a directory of plugins or a plugin file");
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
    if (fs::is_directory(path)) add(path);
  return found;
}

Catalogue Catalogue::open(const std::vector<fs::path>& directories, const tenon_host& host,
                          const std::string& torch_build, const std::vector<config::PluginPin>& pins) {
  Catalogue catalogue;
  catalogue.directories_ = directories;
  const std::vector<fs::path> files = list_all_libraries(directories);
  require_pinned_files(files, pins, catalogue.describe_search());
  std::vector<InspectedFile> inspected;
  for (const fs::path& file : files) inspected.push_back(inspect_file(file, pins));
  for (const InspectedFile& file : inspected) catalogue.add_file(file, host, torch_build);
  return catalogue;
}

Catalogue Catalogue::survey(const std::vector<fs::path>& directories, const tenon_host& host,
                            const std::string& torch_build, std::vector<Refusal>& refusals) {
  Catalogue catalogue;
  catalogue.directories_ = directories;
  for (const fs::path& file : list_all_libraries(directories)) {
    try {
      catalogue.add_file(inspect_file(file, {}), host, torch_build);
    } catch (const Error& error) {
      refusals.push_back({file, error.what()});
    }
  }
  return catalogue;
}

Catalogue::InspectedFile Catalogue::inspect_file(const fs::path& file, const std::vector<config::PluginPin>& pins) {
  const LibraryFacts facts = inspect_library(file, TENON_ENTRY_SYMBOL);
  InspectedFile inspected{file, support::read_sha256(file), find_libtorch(facts.needed)};
  require_pinned_digest(file, inspected.sha256, pins);
  return inspected;
}

void Catalogue::add_file(const InspectedFile& inspected, const tenon_host& host, const std::string& torch_build) {
  const fs::path& file = inspected.file;
  const tenon_reply reply = call_entry(file, host);
  const uint32_t abi = negotiate_abi(file, reply);
  auto plugin = std::make_unique<PluginInfo>(check_plugin(file, reply.plugin, torch_build));
  plugin->abi = abi;
  plugin->sha256 = inspected.sha256;
  // Which LibTorch it wants cannot be compared with the host's: with another one it would crash at some later call.
  if (plugin->torch_build.empty() && !inspected.libtorch.empty())
    throw Error(ErrorKind::plugin, file.string() +
                                       ": links LibTorch but does not say which: build it with tenon_add_plugin(NAME "
                                       "TORCH ...), or without " +
                                       inspected.libtorch.front());
  // All of its components or none.
  std::map<std::pair<ComponentKind, std::string>, Component> components;
  for (uint64_t i = 0; i < reply.plugin->component_count; ++i) {
    Component component = check_component(*plugin, reply.plugin->components[i]);
    require_new(component);
    const auto key = std::pair(component.schema.kind, component.schema.id);
    if (!components.emplace(key, std::move(component)).second)
      throw Error(ErrorKind::plugin, file.string() + ": " + config::to_string(key.first) + " \"" + key.second +
                                         "\" is in it twice; rename one");
  }
  components_.merge(components);
  plugins_.push_back(std::move(plugin));
}

void Catalogue::require_new(const Component& component) const {
  const auto known = components_.find({component.schema.kind, component.schema.id});
  if (known == components_.end()) return;
  throw Error(ErrorKind::plugin, std::string(config::to_string(component.schema.kind)) + " \"" + component.schema.id +
                                     "\" is in two plugins: " + known->second.plugin->file.string() + " and " +
                                     component.plugin->file.string() + "; remove one, or rename its id");
}

const Component& Catalogue::find(ComponentKind kind, const std::string& id) const {
  const auto found = components_.find({kind, id});
  if (found == components_.end())
    throw Error(ErrorKind::plugin, std::string("no ") + config::to_string(kind) + " \"" + id + "\"" +
                                       support::suggest_name(id, component_ids(kind)) + " (" + describe_search() + ")");
  return found->second;
}

const config::ComponentSchema* Catalogue::find_schema(ComponentKind kind, const std::string& id) const {
  const auto found = components_.find({kind, id});
  return found == components_.end() ? nullptr : &found->second.schema;
}

std::vector<std::string> Catalogue::component_ids(ComponentKind kind) const {
  std::vector<std::string> ids;
  for (const auto& [key, component] : components_)
    if (key.first == kind) ids.push_back(key.second);
  return ids;
}

std::string Catalogue::describe_search() const {
  if (directories_.empty()) return "no plugin directory was found: give one with --plugin-dir";
  std::string text = "searched";
  for (const fs::path& directory : directories_)
    text += (&directory == &directories_.front() ? " " : ", ") + directory.string();
  return text;
}

}  // namespace tenon::plugins

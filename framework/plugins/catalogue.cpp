#include "framework/plugins/catalogue.h"

#include <set>

#include "framework/plugins/load_plugin.h"
#include "framework/plugins/plugin_note.h"
#include "framework/support/error.h"
#include "framework/support/nearest_name.h"

namespace tenon::plugins {

namespace fs = std::filesystem;
using config::ComponentKind;
using support::Error;
using support::ErrorKind;

namespace {

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

}  // namespace

Catalogue Catalogue::open(const std::vector<fs::path>& directories, const tenon_host& host,
                          const std::string& torch_build, const std::vector<config::PluginPin>& pins) {
  Catalogue catalogue;
  catalogue.directories_ = directories;
  const std::vector<fs::path> files = list_plugin_files(directories);
  require_pinned_files(files, pins, catalogue.describe_search());
  std::vector<PluginFile> inspected;
  for (const fs::path& file : files) inspected.push_back(inspect_plugin_file(file, pins));
  for (const PluginFile& file : inspected) catalogue.add_file(file, host, torch_build);
  return catalogue;
}

Catalogue Catalogue::survey(const std::vector<fs::path>& directories, const tenon_host& host,
                            const std::string& torch_build, std::vector<Refusal>& refusals) {
  Catalogue catalogue;
  catalogue.directories_ = directories;
  for (const fs::path& file : list_plugin_files(directories)) {
    try {
      catalogue.add_file(inspect_plugin_file(file), host, torch_build);
    } catch (const Error& error) {
      refusals.push_back({file, error.what()});
    }
  }
  return catalogue;
}

void Catalogue::add_file(const PluginFile& file, const tenon_host& host, const std::string& torch_build) {
  // By its note, a plugin for another LibTorch is refused before it can bring that into this process.
  if (file.note) require_fitting(file, *file.note, host, torch_build);
  LoadedPlugin plugin = load_plugin(file, host, torch_build);
  if (file.note) require_same(file.file, *file.note, *plugin.info);
  // All of its components or none.
  for (const Component& component : plugin.components) require_new(component);
  for (Component& component : plugin.components) {
    const auto key = std::pair(component.schema.kind, component.schema.id);
    components_.emplace(key, std::move(component));
  }
  plugins_.push_back(std::move(plugin.info));
}

void Catalogue::require_new(const Component& component) const {
  const auto known = components_.find({component.schema.kind, component.schema.id});
  if (known != components_.end())
    throw_in_two_plugins(component.schema.kind, component.schema.id, known->second.plugin->file,
                         component.plugin->file);
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

std::string Catalogue::describe_search() const { return plugins::describe_search(directories_); }

}  // namespace tenon::plugins

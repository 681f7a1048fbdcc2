#include "host/show_plugins.h"

#include <algorithm>
#include <cstdio>
#include <nlohmann/json.hpp>
#include <optional>

#include "framework/plugins/catalogue.h"
#include "framework/plugins/host_table.h"
#include "framework/plugins/survey_notes.h"
#include "framework/plugins/tensor_functions.h"
#include "framework/support/error.h"
#include "framework/support/nearest_name.h"
#include "host/component_description.h"
#include "host/standard_streams.h"

namespace tenon::host {

namespace fs = std::filesystem;

namespace {

using plugins::Catalogue;
using plugins::PluginsFound;
using Json = nlohmann::ordered_json;

std::vector<fs::path> find_directories(const CommandLine& line) {
  return plugins::find_plugin_directories(line.plugin_directories, {}, fs::read_symlink("/proc/self/exe"));
}

// Reads only the notes. With --load it loads the plugins into `loaded`.
PluginsFound survey(const CommandLine& line, const std::vector<fs::path>& directories,
                    std::optional<Catalogue>& loaded) {
  plugins::install_libtorch();
  if (!line.load) return plugins::survey_notes(directories, plugins::host_table(), plugins::torch_build());
  PluginsFound found;
  loaded = Catalogue::survey(directories, plugins::host_table(), plugins::torch_build(), found.refusals);
  for (const auto& plugin : loaded->plugins()) found.plugins.push_back(*plugin);
  return found;
}

void print_as_text(const PluginsFound& found, const std::vector<fs::path>& directories) {
  for (const plugins::PluginInfo& plugin : found.plugins) {
    write_output("%s %s  %s  %s\n", plugin.id.c_str(), plugin.version.c_str(),
                 plugin.torch_build.empty() ? "portable" : "native", plugin.file.c_str());
    for (const config::ComponentSchema& component : plugin.components)
      write_output("  %-8s %-16s %s\n", config::to_string(component.kind), component.id.c_str(), component.doc.c_str());
  }
  for (const fs::path& file : found.without_note)
    write_output("no note: %s: run `host note %s` or `host plugins --load`; both run its code\n", file.c_str(),
                 file.c_str());
  for (const plugins::Refusal& refusal : found.refusals) write_output("refused: %s\n", refusal.reason.c_str());
  write_output("%zu plugins, ", found.plugins.size());
  if (!found.without_note.empty()) write_output("%zu without a note, ", found.without_note.size());
  write_output("%zu refused (%s)\n", found.refusals.size(), plugins::describe_search(directories).c_str());
}

void print_as_json(const PluginsFound& found) {
  Json listed = Json::array();
  for (const plugins::PluginInfo& plugin : found.plugins) {
    Json components = Json::array();
    for (const config::ComponentSchema& component : plugin.components)
      components.push_back({{"kind", config::to_string(component.kind)}, {"id", component.id}, {"doc", component.doc}});
    listed.push_back({{"id", plugin.id},
                      {"version", plugin.version},
                      {"license", plugin.license},
                      {"torch_build", plugin.torch_build},
                      {"file", plugin.file.string()},
                      {"sha256", plugin.sha256},
                      {"components", components}});
  }
  Json without_note = Json::array();
  for (const fs::path& file : found.without_note) without_note.push_back(file.string());
  Json refused = Json::array();
  for (const plugins::Refusal& refusal : found.refusals)
    refused.push_back({{"file", refusal.file.string()}, {"reason", refusal.reason}});
  const Json all{{"plugins", listed}, {"without_note", without_note}, {"refused", refused}};
  write_output_json(all);
}

// Returns the components with that id, by kind. They point into `found`. Throws Error(configuration) if there is none.
std::vector<ComponentDescription> find_components(const PluginsFound& found, const std::string& id,
                                                  const std::vector<fs::path>& directories) {
  std::vector<ComponentDescription> descriptions;
  std::vector<std::string> known;
  for (const plugins::PluginInfo& plugin : found.plugins)
    for (const config::ComponentSchema& component : plugin.components) {
      known.push_back(component.id);
      if (component.id == id) descriptions.push_back({&plugin, &component, std::nullopt});
    }
  if (descriptions.empty()) {
    std::string hidden;
    if (!found.without_note.empty()) {
      const std::string file = found.without_note.front().string();
      hidden =
          file + " has no note" +
          (found.without_note.size() > 1 ? " (and " + std::to_string(found.without_note.size() - 1) + " more)" : "") +
          ": run `host note " + file + "`, or add --load; both run its code. In the files with a note ";
    }
    throw support::Error(support::ErrorKind::configuration,
                         "command line: " + hidden + "there is no component \"" + id + "\"" +
                             support::suggest_name(id, known) + " (" + plugins::describe_search(directories) +
                             "); host plugins lists all components and refused files");
  }
  std::stable_sort(descriptions.begin(), descriptions.end(),
                   [](const auto& left, const auto& right) { return left.schema->kind < right.schema->kind; });
  return descriptions;
}

// Loads only the plugins of these components, unless `loaded` already has them.
void query_all(std::vector<ComponentDescription>& descriptions, std::optional<Catalogue>& loaded) {
  if (!loaded) {
    std::vector<fs::path> files;
    for (const ComponentDescription& description : descriptions) files.push_back(description.plugin->file);
    loaded = Catalogue::open(files, plugins::host_table(), plugins::torch_build());
  }
  for (ComponentDescription& description : descriptions)
    description.ports = query_ports(loaded->find(description.schema->kind, description.schema->id));
}

}  // namespace

int list_plugins(const CommandLine& line) {
  std::optional<Catalogue> loaded;
  const std::vector<fs::path> directories = find_directories(line);
  const PluginsFound found = survey(line, directories, loaded);
  line.format == CommandLine::Format::json ? print_as_json(found) : print_as_text(found, directories);
  return found.refusals.empty() ? 0 : static_cast<int>(support::ErrorKind::plugin);
}

int describe(const CommandLine& line) {
  std::optional<Catalogue> loaded;
  const std::vector<fs::path> directories = find_directories(line);
  const PluginsFound found = survey(line, directories, loaded);
  std::vector<ComponentDescription> descriptions = find_components(found, line.component, directories);
  if (line.ports) query_all(descriptions, loaded);
  if (line.format == CommandLine::Format::json) {
    write_output_text(print_json(descriptions));
    return 0;
  }
  for (const ComponentDescription& description : descriptions) {
    if (&description != &descriptions.front()) write_output_text("\n");
    const bool markdown = line.format == CommandLine::Format::markdown;
    write_output_text(markdown ? print_markdown(description) : print_text(description));
  }
  return 0;
}

}  // namespace tenon::host

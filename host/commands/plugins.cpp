// `host plugins`: lists every plugin file that a run would open, with its components or the reason for its refusal.
#include <nlohmann/json.hpp>
#include <vector>

#include "framework/reporting/terminal/write_output.h"
#include "framework/support/diagnostics/error.h"
#include "host/command_line/command.h"
#include "host/describe/find_plugins.h"

namespace tenon::host {

namespace fs = std::filesystem;

namespace {

using components::PluginsFound;
using Json = nlohmann::ordered_json;

void print_as_text(const PluginsFound& found, const std::vector<fs::path>& directories) {
  for (const components::PluginInfo& plugin : found.plugins) {
    reporting::write_output("{} {}  {}  {}\n", plugin.id, plugin.version,
                            plugin.torch_build.empty() ? "portable" : "native", plugin.file.string());
    for (const config::ComponentSchema& component : plugin.components)
      reporting::write_output("  {:<9} {:<16} {}\n", config::to_string(component.kind), component.id, component.doc);
  }
  for (const fs::path& file : found.without_note)
    reporting::write_output("no note: {}: run `host note {}` or `host plugins --load`; both run its code\n",
                            file.string(), file.string());
  for (const components::Refusal& refusal : found.refusals) reporting::write_output("refused: {}\n", refusal.reason);
  reporting::write_output("{} plugins, ", found.plugins.size());
  if (!found.without_note.empty()) reporting::write_output("{} without a note, ", found.without_note.size());
  reporting::write_output("{} refused ({})\n", found.refusals.size(), components::describe_search(directories));
}

void print_as_json(const PluginsFound& found) {
  Json listed = Json::array();
  for (const components::PluginInfo& plugin : found.plugins) {
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
  for (const components::Refusal& refusal : found.refusals)
    refused.push_back({{"file", refusal.file.string()}, {"reason", refusal.reason}});
  reporting::write_output_json(Json{{"plugins", listed}, {"without_note", without_note}, {"refused", refused}});
}

// Returns the exit code of a plugin error if a file is refused.
int list_plugins(const Arguments& arguments) {
  const SurveyedPlugins surveyed = survey_plugins(arguments);
  arguments.wants_json() ? print_as_json(surveyed.found) : print_as_text(surveyed.found, surveyed.directories);
  return surveyed.found.refusals.empty() ? 0 : static_cast<int>(support::ErrorKind::plugin);
}

}  // namespace

extern const Command plugins_command{
    .name = "plugins",
    .purpose = "list the plugins found and why others are refused",
    .details = "Lists the plugins in the search folders and their components. Runs no plugin code without --load.",
    .page = "reference/components.md",
    .add_options = add_survey_options,
    .run = list_plugins};

}  // namespace tenon::host

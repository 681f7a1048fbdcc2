#include "host/show_plugins.h"

#include <cstdio>
#include <nlohmann/json.hpp>

#include "framework/plugins/host_table.h"
#include "framework/plugins/tensor_functions.h"
#include "framework/support/error.h"
#include "framework/support/nearest_name.h"
#include "host/component_description.h"

namespace tenon::host {

namespace {

using config::ComponentKind;
using plugins::Catalogue;
using Json = nlohmann::ordered_json;

constexpr ComponentKind kKinds[] = {ComponentKind::model, ComponentKind::dataset, ComponentKind::loss,
                                    ComponentKind::metric, ComponentKind::callback};

Catalogue survey(const CommandLine& line, std::vector<Catalogue::Refusal>& refusals) {
  plugins::install_libtorch();
  const auto directories =
      plugins::find_plugin_directories(line.plugin_directories, {}, std::filesystem::read_symlink("/proc/self/exe"));
  return Catalogue::survey(directories, plugins::host_table(), plugins::torch_build(), refusals);
}

std::vector<const plugins::Component*> components_of(const Catalogue& catalogue, const plugins::PluginInfo& plugin) {
  std::vector<const plugins::Component*> components;
  for (const ComponentKind kind : kKinds)
    for (const std::string& id : catalogue.component_ids(kind))
      if (const auto& component = catalogue.find(kind, id); component.plugin == &plugin)
        components.push_back(&component);
  return components;
}

void print_as_text(const Catalogue& catalogue, const std::vector<Catalogue::Refusal>& refusals) {
  for (const auto& plugin : catalogue.plugins()) {
    std::printf("%s %s  %s  %s\n", plugin->id.c_str(), plugin->version.c_str(),
                plugin->torch_build.empty() ? "portable" : "native", plugin->file.c_str());
    for (const plugins::Component* component : components_of(catalogue, *plugin))
      std::printf("  %-8s %-16s %s\n", config::to_string(component->schema.kind), component->schema.id.c_str(),
                  component->schema.doc.c_str());
  }
  for (const Catalogue::Refusal& refusal : refusals) std::printf("refused: %s\n", refusal.reason.c_str());
  std::printf("%zu plugins, %zu refused (%s)\n", catalogue.plugins().size(), refusals.size(),
              catalogue.describe_search().c_str());
}

void print_as_json(const Catalogue& catalogue, const std::vector<Catalogue::Refusal>& refusals) {
  Json found = Json::array();
  for (const auto& plugin : catalogue.plugins()) {
    Json components = Json::array();
    for (const plugins::Component* component : components_of(catalogue, *plugin))
      components.push_back({{"kind", config::to_string(component->schema.kind)},
                            {"id", component->schema.id},
                            {"doc", component->schema.doc}});
    found.push_back({{"id", plugin->id},
                     {"version", plugin->version},
                     {"license", plugin->license},
                     {"torch_build", plugin->torch_build},
                     {"file", plugin->file.string()},
                     {"sha256", plugin->sha256},
                     {"components", components}});
  }
  Json refused = Json::array();
  for (const Catalogue::Refusal& refusal : refusals)
    refused.push_back({{"file", refusal.file.string()}, {"reason", refusal.reason}});
  const Json all{{"plugins", found}, {"refused", refused}};
  std::printf("%s\n", all.dump(2, ' ', false, Json::error_handler_t::replace).c_str());
}

}  // namespace

int list_plugins(const CommandLine& line) {
  std::vector<Catalogue::Refusal> refusals;
  const Catalogue catalogue = survey(line, refusals);
  line.format == CommandLine::Format::json ? print_as_json(catalogue, refusals) : print_as_text(catalogue, refusals);
  return refusals.empty() ? 0 : static_cast<int>(support::ErrorKind::plugin);
}

int describe(const CommandLine& line) {
  std::vector<Catalogue::Refusal> refusals;
  const Catalogue catalogue = survey(line, refusals);
  std::vector<ComponentDescription> descriptions;
  std::vector<std::string> known;
  for (const ComponentKind kind : kKinds)
    for (const std::string& id : catalogue.component_ids(kind)) {
      known.push_back(id);
      if (id == line.component) descriptions.push_back(describe_component(catalogue.find(kind, id)));
    }
  if (descriptions.empty())
    throw support::Error(support::ErrorKind::configuration,
                         "command line: there is no component \"" + line.component + "\"" +
                             support::suggest_name(line.component, known) + " (" + catalogue.describe_search() +
                             "); host plugins lists what is there and what was refused");
  if (line.format == CommandLine::Format::json) {
    std::fputs(print_json(descriptions).c_str(), stdout);
    return 0;
  }
  for (const ComponentDescription& description : descriptions) {
    if (&description != &descriptions.front()) std::fputs("\n", stdout);
    const bool markdown = line.format == CommandLine::Format::markdown;
    std::fputs((markdown ? print_markdown(description) : print_text(description)).c_str(), stdout);
  }
  return 0;
}

}  // namespace tenon::host

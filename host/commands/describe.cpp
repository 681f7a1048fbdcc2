// `host describe ID`: describes a component and its parameters.
#include <algorithm>
#include <optional>
#include <string>
#include <vector>

#include "framework/components/calls/host_table.h"
#include "framework/components/tensors/tensor_functions.h"
#include "framework/config/file/overrides.h"
#include "framework/formats/nearest_name.h"
#include "framework/reporting/terminal/write_output.h"
#include "host/command_line/command.h"
#include "host/describe/component_description.h"
#include "host/describe/find_plugins.h"
#include "host/process/process_setup.h"

namespace tenon::host {

namespace fs = std::filesystem;

namespace {

using components::Catalogue;
using components::PluginsFound;

// Returns the components with that id, by kind. They point into `found`. Throws Error(configuration) if there is none.
std::vector<ComponentDescription> find_components(const PluginsFound& found, const std::string& id,
                                                  const std::vector<fs::path>& directories) {
  std::vector<ComponentDescription> descriptions;
  std::vector<std::string> known;
  for (const components::PluginInfo& plugin : found.plugins)
    for (const config::ComponentSchema& component : plugin.components) {
      known.push_back(component.id);
      if (component.id == id) descriptions.push_back({&plugin, &component, std::nullopt});
    }
  if (descriptions.empty()) {
    std::string hidden;
    if (!found.without_note.empty()) {
      const std::string file = found.without_note.front().string();
      const size_t more = found.without_note.size() - 1;
      hidden = fmt::format(
          "{0} has no note{1}: run `host note {0}`, or add --load; both run its code. In the files with a note ", file,
          more > 0 ? fmt::format(" (and {} more)", more) : "");
    }
    throw_command_line_error(
        "{}there is no component \"{}\"{} ({}); host plugins lists all components and refused files", hidden, id,
        formats::suggest_name(id, known), components::describe_search(directories));
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
    loaded = Catalogue::open(files, components::host_table(), components::torch_build());
    restore_standard_streams();
  }
  for (ComponentDescription& description : descriptions)
    description.ports = query_ports(loaded->find(description.schema->kind, description.schema->id), description.given);
}

void add_describe_options(AddOption& add) {
  add_survey_options(add);
  add("markdown", "print Markdown");
  add("set", texts_value("NAME=VALUE"),
      "value of a parameter, for --ports and the example of --markdown; may be repeated");
  add("ports", "also show inputs, outputs, fields and metric values; loads the plugin and creates the component");
}

config::Node::Table read_given(const Arguments& arguments) {
  config::Node document{.value = config::Node::Table{}, .place = {}, .key_place = {}, .text = ""};
  config::Diagnostics diagnostics;
  for (const std::string& text : arguments.texts("set")) config::apply_override(text, document, diagnostics);
  diagnostics.throw_if_any();
  return *document.as_table();
}

int describe(const Arguments& arguments) {
  if (arguments.wants_json() && arguments.has("markdown"))
    arguments.refuse("--json and --markdown are both given; choose one");
  SurveyedPlugins surveyed = survey_plugins(arguments);
  std::vector<ComponentDescription> descriptions =
      find_components(surveyed.found, arguments.positional().front(), surveyed.directories);
  const config::Node::Table given = read_given(arguments);
  for (ComponentDescription& description : descriptions) {
    check_given(*description.schema, given);
    description.given = given;
  }
  if (arguments.has("ports")) query_all(descriptions, surveyed.loaded);
  if (arguments.wants_json()) {
    reporting::write_output_text(format_json(descriptions));
    return 0;
  }
  for (const ComponentDescription& description : descriptions) {
    if (&description != &descriptions.front()) reporting::write_output_text("\n");
    if (arguments.has("markdown"))
      reporting::write_output_text(format_markdown(description));
    else
      reporting::write_wrapped_output_text(format_text(description));
  }
  return 0;
}

}  // namespace

extern const Command describe_command{
    .name = "describe",
    .arguments = "ID",
    .purpose = "describe a component and its parameters",
    .details =
        "Shows the parameters of a component with types, ranges and defaults. --ports adds its inputs and outputs; "
        "--set path=photos sets a parameter that they depend on.",
    .page = "reference/components.md",
    .add_options = add_describe_options,
    .run = describe};

}  // namespace tenon::host

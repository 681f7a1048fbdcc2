// `host describe ID`: describes a component and its parameters.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "framework/components/calls/host_table.h"
#include "framework/components/calls/image_library.h"
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
using Json = nlohmann::ordered_json;

using components::BundledTransform;

// Returns the components with that id, by kind. They point into `found`.
std::vector<ComponentDescription> find_components(const PluginsFound& found, const std::string& id) {
  std::vector<ComponentDescription> descriptions;
  for (const components::PluginInfo& plugin : found.plugins)
    for (const config::ComponentSchema& component : plugin.components)
      if (component.id == id) descriptions.push_back({&plugin, &component, std::nullopt});
  std::stable_sort(descriptions.begin(), descriptions.end(),
                   [](const auto& left, const auto& right) { return left.schema->kind < right.schema->kind; });
  return descriptions;
}

[[noreturn]] void refuse_unknown(const PluginsFound& found, const std::string& id,
                                 const std::vector<fs::path>& directories) {
  std::vector<std::string> known;
  for (const components::PluginInfo& plugin : found.plugins)
    for (const config::ComponentSchema& component : plugin.components) known.push_back(component.id);
  std::string hidden;
  if (!found.without_note.empty()) {
    const std::string file = found.without_note.front().string();
    const size_t more = found.without_note.size() - 1;
    hidden = fmt::format(
        "{0} has no note{1}: run `host note {0}`, or add --load; both run its code. In the files with a note ", file,
        more > 0 ? fmt::format(" (and {} more)", more) : "");
  }
  throw_command_line_error(
      "{}there is no component \"{}\"{} ({}); host plugins lists all components and refused files, host describe "
      "transforms the transforms of images",
      hidden, id, formats::suggest_name(id, known), components::describe_search(directories));
}

// ---- Transforms of images ----

Json to_json(const BundledTransform& transform) {
  Json arguments = Json::array();
  for (const BundledTransform::Argument& argument : transform.arguments)
    arguments.push_back({{"name", argument.name},
                         {"values", argument.values},
                         {"required", argument.default_value.empty()},
                         {"default", argument.default_value},
                         {"doc", argument.doc}});
  return {{"id", transform.name}, {"doc", transform.doc}, {"source", transform.source}, {"arguments", arguments}};
}

void print_transform(const BundledTransform& transform) {
  std::string text = "transform " + transform.name + ": " + transform.doc + "\n  bundled; source: " + transform.source +
                     "\n\narguments\n";
  for (const BundledTransform::Argument& argument : transform.arguments)
    text += "  " + argument.name + (argument.default_value.empty() ? " (required)" : " = " + argument.default_value) +
            "  " + argument.values + "\n      " + argument.doc + "\n";
  reporting::write_wrapped_output_text(text);
}

// The transforms of the image library and those of plugins.
void list_transforms(const PluginsFound& found, bool as_json) {
  Json list = Json::array();
  std::string text;
  for (const BundledTransform& transform : components::describe_image_transforms()) {
    list.push_back(to_json(transform));
    text += fmt::format("  {:<22} {}\n", transform.name, transform.doc);
  }
  for (const components::PluginInfo& plugin : found.plugins)
    for (const config::ComponentSchema& component : plugin.components) {
      if (component.kind != config::ComponentKind::transform) continue;
      list.push_back({{"id", component.id}, {"doc", component.doc}, {"plugin", plugin.id}});
      text += fmt::format("  {:<22} {} (plugin {})\n", component.id, component.doc, plugin.id);
    }
  if (as_json) return reporting::write_output_json(list);
  reporting::write_wrapped_output_text("transforms of images, for the lists of transforms of datasets\n" + text +
                                       "\nArguments: host describe NAME\n");
}

// Describes a transform of the image library. Returns false if there is none, or no library.
bool describe_bundled_transform(const std::string& id, bool as_json) {
  std::vector<BundledTransform> transforms;
  try {
    transforms = components::describe_image_transforms();
  } catch (const support::Error&) {
    return false;
  }
  const auto transform = std::ranges::find(transforms, id, &BundledTransform::name);
  if (transform == transforms.end()) return false;
  if (as_json)
    reporting::write_output_json(Json::array({to_json(*transform)}));
  else
    print_transform(*transform);
  return true;
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
  const std::string& id = arguments.positional().front();
  std::vector<ComponentDescription> descriptions = find_components(surveyed.found, id);
  if (descriptions.empty()) {
    if (id == "transforms")
      list_transforms(surveyed.found, arguments.wants_json());
    else if (!describe_bundled_transform(id, arguments.wants_json()))
      refuse_unknown(surveyed.found, id, surveyed.directories);
    return 0;
  }
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

extern const Command describe_command{.name = "describe",
                                      .arguments = "ID",
                                      .purpose = "describe a component and its parameters",
                                      .details =
                                          "Shows the parameters of a component with types, ranges and defaults, or the "
                                          "arguments of a transform of images; "
                                          "`host describe transforms` lists them. --ports adds its inputs and outputs; "
                                          "--set path=photos sets a parameter that they depend on.",
                                      .page = "reference/components.md",
                                      .add_options = add_describe_options,
                                      .run = describe};

}  // namespace tenon::host

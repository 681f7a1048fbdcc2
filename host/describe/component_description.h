// Describes a component without a run: its plugin and parameters, and an example for a run file. If the component can
// be created from its defaults and the given parameters, the description includes its inputs, outputs, fields and
// metric values.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/components/calls/component.h"
#include "framework/config/toml/toml_tree.h"
#include "framework/config/values/component_schema.h"

namespace tenon::host {

struct DescribedPort {
  std::string name;
  std::string dtypes;  // "float32", "any dtype"
  std::string shape;   // "[N, 3, H, W]"
  std::string doc;
};

// Properties that are known only after the component is created.
struct ComponentPorts {
  std::string not_created;           // reason why nothing is known; empty: the lists below are complete
  std::vector<std::string> missing;  // the required parameters that the component could not be created without
  std::vector<DescribedPort> inputs;
  std::vector<DescribedPort> outputs;
  std::vector<DescribedPort> fields;  // only for a dataset
  std::vector<std::string> results;   // results of a model, "boxes (a list)"
  std::vector<std::string> values;    // values of a metric
};

struct ComponentDescription {
  const components::PluginInfo* plugin;
  const config::ComponentSchema* schema;
  std::optional<ComponentPorts> ports;  // none: not requested, so the plugin was not run
  config::Node::Table given = {};       // parameters of the command line, for the ports and the example
};

// Throws Error(configuration) if a parameter is unknown or has a wrong value.
void check_given(const config::ComponentSchema& schema, const config::Node::Table& given);

// Creates the component from the given parameters, which check_given() accepts, and the defaults of its schema, and
// queries its ports. Never throws for plugin errors.
ComponentPorts query_ports(const components::Component& component, const config::Node::Table& given);

// Print text for the terminal, a section of a Markdown document, and JSON. Each ends with a line break.
std::string format_text(const ComponentDescription& description);
std::string format_markdown(const ComponentDescription& description);
std::string format_json(const std::vector<ComponentDescription>& descriptions);

}  // namespace tenon::host

// What can be said of a component without a run: its plugin, its parameters and, where it is created from its defaults,
// its ports, fields and figures.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "framework/plugins/component.h"

namespace tenon::host {

struct DescribedPort {
  std::string name;
  std::string dtypes;  // "float32", "any dtype"
  std::string shape;   // "[N, 3, H, W]"
  std::string doc;
};

// What only the created component can say.
struct ComponentPorts {
  std::string not_created;  // why nothing is known; empty: the lists below are complete
  std::vector<DescribedPort> inputs;
  std::vector<DescribedPort> outputs;
  std::vector<DescribedPort> fields;  // of a dataset
  std::vector<std::string> figures;   // of a metric
};

struct ComponentDescription {
  const plugins::PluginInfo* plugin;
  const config::ComponentSchema* schema;
  std::optional<ComponentPorts> ports;  // none: it was not asked, which would have run the plugin
};

// Creates the component from the defaults of its schema and asks it. Never throws for what the plugin does.
ComponentPorts ask_ports(const plugins::Component& component);

// As a person reads it, as a section of a Markdown document, and as JSON; each ends with a line break.
std::string print_text(const ComponentDescription& description);
std::string print_markdown(const ComponentDescription& description);
std::string print_json(const std::vector<ComponentDescription>& descriptions);

}  // namespace tenon::host

// What can be said of a component without a run: its plugin, its parameters and, where it can be created from defaults
// alone, its ports, fields and figures.
#pragma once

#include <string>
#include <vector>

#include "framework/plugins/catalogue.h"

namespace tenon::host {

struct DescribedPort {
  std::string name;
  std::string dtypes;  // "float32", "any dtype"
  std::string shape;   // "[N, 3, H, W]"
  std::string doc;
};

struct ComponentDescription {
  const plugins::Component* component;
  std::string not_created;  // why nothing but the parameters is known; empty: the lists below are complete
  std::vector<DescribedPort> inputs;
  std::vector<DescribedPort> outputs;
  std::vector<DescribedPort> fields;  // of a dataset
  std::vector<std::string> figures;   // of a metric
};

// Creates the component from the defaults of its schema and asks it. Never throws for what the plugin does.
ComponentDescription describe_component(const plugins::Component& component);

// As a person reads it, as a section of a Markdown document, and as JSON; each ends with a line break.
std::string print_text(const ComponentDescription& description);
std::string print_markdown(const ComponentDescription& description);
std::string print_json(const std::vector<ComponentDescription>& descriptions);

}  // namespace tenon::host

// The schemas of the bundled plugins, for tests of the configuration without plugins.
#pragma once

#include <map>
#include <string>
#include <utility>
#include <vector>

#include "framework/config/values/component_schema.h"

namespace tenon::config {

class StubSchemas : public SchemaSource {
 public:
  StubSchemas();
  const ComponentSchema* find_schema(ComponentKind kind, const std::string& id) const override;
  std::vector<std::string> component_ids(ComponentKind kind) const override;
  std::string describe_search() const override { return "searched: plugins"; }

 private:
  void add(ComponentKind kind, const std::string& id, std::vector<ParamSchema> params);

  std::map<std::pair<ComponentKind, std::string>, ComponentSchema> schemas_;
};

}  // namespace tenon::config

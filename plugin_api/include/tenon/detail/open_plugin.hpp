// The plugin's side of tenon_plugin_open: agrees on a version and passes the description to the host.
#pragma once

#include <algorithm>
#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "../called_operators.h"
#include "../component.hpp"
#include "guard.hpp"
#include "table.hpp"

namespace tenon::detail {

struct PluginDetails {
  std::string id;
  std::string version;
  std::string license;
  std::string doc;
  std::string torch_build;
};

// The arguments of TENON_PLUGIN after the doc: components, and optionally Operators.
struct Contents {
  template <class... Parts>
  explicit Contents(Parts... parts) {
    (add(std::move(parts)), ...);
  }
  void add(Component component) { components.push_back(std::move(component)); }
  void add(Operators named) { operators = std::move(named.names); }

  std::vector<Component> components;
  std::vector<std::string> operators;
};

// The operators of called_operators.h, and those called by name.
inline std::vector<std::string> add_called_operators(std::vector<std::string> operators) {
  for (const char* name = tenon_next_called_operator(nullptr); name; name = tenon_next_called_operator(name))
    operators.emplace_back(name);
  std::sort(operators.begin(), operators.end());
  operators.erase(std::unique(operators.begin(), operators.end()), operators.end());
  return operators;
}

// The descriptors of the plugin and all data that they point to.
class Description {
 public:
  Description(PluginDetails details, Contents contents)
      : details_(std::move(details)),
        components_(std::move(contents.components)),
        operators_(add_called_operators(std::move(contents.operators))),
        descriptors_(describe_components()) {
    for (const std::string& name : operators_) borrowed_operators_.push_back(borrow(name));
    plugin_.size = sizeof plugin_;
    plugin_.id = borrow(details_.id);
    plugin_.version = borrow(details_.version);
    plugin_.license = borrow(details_.license);
    plugin_.doc = borrow(details_.doc);
    plugin_.components = descriptors_.data();
    plugin_.component_count = descriptors_.size();
    plugin_.torch_build = borrow(details_.torch_build);
    plugin_.operators = borrowed_operators_.data();
    plugin_.operator_count = borrowed_operators_.size();
  }

  const tenon_plugin* plugin() const { return &plugin_; }

 private:
  std::vector<tenon_component> describe_components() {
    std::vector<tenon_component> descriptors;
    for (const Component& component : components_) {
      const Pointers<tenon_param>& schema = schemas_.emplace_back(describe_schema(component.schema));
      tenon_component descriptor = {};
      descriptor.size = sizeof descriptor;
      descriptor.kind = component.kind;
      descriptor.id = borrow(component.id);
      descriptor.doc = borrow(component.doc);
      descriptor.params = schema.data();
      descriptor.param_count = schema.size();
      descriptor.table = component.table;
      descriptor.get_extension = component.get_extension;
      descriptors.push_back(descriptor);
    }
    return descriptors;
  }

  std::vector<tenon_param> describe_schema(const std::vector<Param>& schema) {
    std::vector<tenon_param> params;
    for (const Param& param : schema) params.push_back(param.describe(choices_.emplace_back()));
    return params;
  }

  const PluginDetails details_;
  const std::vector<Component> components_;
  const std::vector<std::string> operators_;
  std::vector<tenon_string> borrowed_operators_;
  // Deques, because their elements never move.
  std::deque<std::vector<tenon_string>> choices_;
  std::deque<Pointers<tenon_param>> schemas_;
  const Pointers<tenon_component> descriptors_;
  tenon_plugin plugin_ = {};
};

// `describe` creates the Description, which lives until the process ends.
template <class Describe>
TENON_HIDDEN tenon_status open_plugin(const tenon_offer* offer, tenon_reply* reply, Describe describe) noexcept {
  // If the versions are incompatible, the host reports it, and the host's table cannot be used here.
  if (const tenon_status status = tenon_answer(offer, reply, nullptr)) return status;
  host = offer->host;
  return guard([&] {
    static const Description* const description = describe();
    reply->plugin = description->plugin();
  });
}

}  // namespace tenon::detail

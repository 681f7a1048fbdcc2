// The plugin's side of tenon_plugin_open: agrees on a version and hands over the description.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include "../component.hpp"
#include "guard.hpp"
#include "table.hpp"

namespace tenon::detail {

struct PluginFacts {
  std::string id;
  std::string version;
  std::string license;
  std::string doc;
  std::string torch_build;
};

// The plugin's descriptors and all that they point to.
class Description {
 public:
  Description(PluginFacts facts, std::vector<Component> components)
      : facts_(std::move(facts)), components_(std::move(components)), descriptors_(describe_components()) {
    plugin_.size = sizeof plugin_;
    plugin_.id = borrow(facts_.id);
    plugin_.version = borrow(facts_.version);
    plugin_.license = borrow(facts_.license);
    plugin_.doc = borrow(facts_.doc);
    plugin_.components = descriptors_.data();
    plugin_.component_count = descriptors_.size();
    plugin_.torch_build = borrow(facts_.torch_build);
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
      descriptors.push_back(descriptor);
    }
    return descriptors;
  }

  std::vector<tenon_param> describe_schema(const std::vector<Param>& schema) {
    std::vector<tenon_param> params;
    for (const Param& param : schema) params.push_back(param.describe(choices_.emplace_back()));
    return params;
  }

  const PluginFacts facts_;
  const std::vector<Component> components_;
  // Deques, because their elements never move.
  std::deque<std::vector<tenon_string>> choices_;
  std::deque<Pointers<tenon_param>> schemas_;
  const Pointers<tenon_component> descriptors_;
  tenon_plugin plugin_ = {};
};

// `describe` makes the Description, which lives until the process ends.
template <class Describe>
TENON_HIDDEN tenon_status open_plugin(const tenon_offer* offer, tenon_reply* reply, Describe describe) noexcept {
  reply->abi_min = TENON_ABI_OLDEST;
  reply->abi_max = TENON_ABI_CURRENT;
  reply->plugin = nullptr;
  // The host says it in words, from both ranges: its table is none that could be used here.
  if (offer->abi_max < TENON_ABI_OLDEST || TENON_ABI_CURRENT < offer->abi_min) return TENON_UNSUPPORTED;
  host = offer->host;
  return guard([&] {
    static const Description* const description = describe();
    reply->plugin = description->plugin();
  });
}

}  // namespace tenon::detail

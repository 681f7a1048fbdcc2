// What a plugin says of one component: made by dataset<T>(), model<T>(), loss<T>(), metric<T>() and callback<T>().
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "params.hpp"
#include "plugin.h"

namespace tenon {

struct Component {
  uint32_t kind;  // TENON_MODEL ...
  std::string id;
  std::string doc;
  std::vector<Param> schema;
  const void* table;  // of its kind; a static of the plugin
  const void* (*get_extension)(tenon_string id) = nullptr;
};

// The ATen operators that a plugin calls: `aten::linear`, or with the overload `aten::add.Tensor`. A host whose
// LibTorch lacks one then refuses the plugin when it is opened, and not in the middle of a run.
struct Operators {
  std::vector<std::string> names;
};
inline Operators operators(std::vector<std::string> names) { return {std::move(names)}; }

}  // namespace tenon

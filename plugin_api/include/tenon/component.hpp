// The description of a component. dataset<T>(), model<T>(), loss<T>(), metric<T>() and callback<T>() create it.
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
  const void* table;  // function table of this kind; a static of the plugin
  const void* (*get_extension)(tenon_string id) = nullptr;
};

// The ATen operators that a plugin calls by name, with tenon::Op: `aten::linear`, or with an overload
// `aten::add.Tensor`. TENON_PLUGIN adds those of ops.hpp and layers.hpp. If the host's LibTorch lacks one of them, the
// host rejects the plugin at load rather than in the middle of a run.
struct Operators {
  std::vector<std::string> names;
};
inline Operators operators(std::vector<std::string> names) { return {std::move(names)}; }

}  // namespace tenon

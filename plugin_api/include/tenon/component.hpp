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
};

}  // namespace tenon

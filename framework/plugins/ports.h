// Ports as the host holds them, and the question whether what flows from one end fits the other.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/port.h>

#include "framework/plugins/component.h"

namespace tenon::plugins {

// `N,3,H,W` taken apart. An extent is known or has a name.
struct ShapePattern {
  struct Extent {
    std::optional<int64_t> size;
    std::string name;  // when size is unknown
  };
  bool any = false;         // `*`
  bool open_ended = false;  // a trailing `...` or `...name`
  std::string rest;         // the name; empty: any further extents
  std::vector<Extent> extents;
};

// Throws std::invalid_argument saying what is wrong with the text.
ShapePattern parse_shape(std::string_view text);
std::string to_string(const ShapePattern& shape);  // as the port wrote it: "[N, 3, H, W]"
ShapePattern exact_shape(const std::vector<int64_t>& shape);

struct Port {
  std::string name;
  ShapePattern shape;
  uint64_t dtypes;  // bits; 0: all
  std::string doc;

  std::string describe() const;  // `image: float32 [N, 3, H, W]`
};

const char* dtype_name(int32_t dtype);         // "float32", or "none"
size_t dtype_bytes(int32_t dtype);             // 4, or 0 for an unknown dtype
std::string describe_dtypes(uint64_t dtypes);  // "float16, float32", or "any dtype"

// What the names of one component's dimensions turned out to be. Of a rest `...S`: its length as "...S", its extents as
// "...S 0" and on.
using Extents = std::map<std::string, int64_t>;

// Why a source of this shape and these dtypes does not fit the port; nothing if it does. Names of the source are
// unknown extents that fit anything; names of the port are bound in `extents` on the way, so that `N,3,H,H` really is
// square.
std::optional<std::string> find_mismatch(const ShapePattern& source, uint64_t source_dtypes, const Port& port,
                                         Extents& extents);

// Reads what a component's ports() gave. Throws Error(plugin) naming component and port.
struct PortList {
  std::vector<Port> inputs;
  std::vector<Port> outputs;
};
PortList read_ports(const Component& component, const tenon_port* const* ports, uint64_t count);

}  // namespace tenon::plugins

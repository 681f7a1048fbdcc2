// The host's form of ports, and the check whether a source fits a port.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/index_inputs.h>
#include <tenon/port.h>
#include <tenon/usual_sources.h>

#include "framework/components/calls/component.h"

namespace tenon::components {

// The parsed form of `N,3,H,W`. An extent is a number or has a name.
struct ShapePattern {
  struct Extent {
    std::optional<int64_t> size;
    std::string name;  // when size is unknown
  };
  bool any = false;         // `*`
  bool open_ended = false;  // a trailing `...` or `...name`
  std::string rest;         // the name of `...name`; empty: any further extents
  std::vector<Extent> extents;
};

// Throws std::invalid_argument with the reason if the text is invalid.
ShapePattern parse_shape(std::string_view text);
std::string to_string(const ShapePattern& shape);  // as in the port's declaration: "[N, 3, H, W]"
ShapePattern exact_shape(const std::vector<int64_t>& shape);

// The elements of an input that holds indices are in [0, limit), or equal to ignore_index.
struct IndexRange {
  // A dimension of one of the component's inputs. Its extent is the limit.
  struct Dimension {
    std::string name;  // "C"
    size_t input;
    size_t dimension;
  };
  std::optional<Dimension> dimension;
  int64_t limit;  // without a dimension
  std::optional<int64_t> ignore_index;
};

struct Port {
  std::string name;
  ShapePattern shape;
  uint64_t dtypes;  // bits; 0: all
  std::string doc;
  std::optional<IndexRange> indices = {};  // only for an input that holds indices
  // fields or outputs that an input is connected to if none has its name
  std::vector<std::string> usual_sources = {};

  std::string describe() const;  // `image: float32 [N, 3, H, W]`
};

// What is wrong with a shape that a plugin passes as ndim and a list: "has ndim 65; expected 0 to 64". Nothing if the
// list can be read.
std::optional<std::string> find_shape_fault(uint32_t ndim, const int64_t* shape);

const char* dtype_name(int32_t dtype);  // "float32", or "none"
size_t dtype_bytes(int32_t dtype);      // 4, or 0 for an unknown dtype
// Why a port cannot have this set of dtypes: "has the set of dtypes 0x5, with bits that are no dtype; ..."
std::optional<std::string> find_dtypes_fault(uint64_t dtypes);
std::string describe_dtypes(uint64_t dtypes);  // "float16, float32", or "any dtype"

// The extents of the named dimensions of one component. A rest `...S` has its length as "...S" and its extents as
// "...S 0", "...S 1" and so on.
using Extents = std::map<std::string, int64_t>;

// Why a source with this shape and these dtypes does not fit the port; nothing if it fits. Names in the source are
// unknown extents and fit anything. Names in the port are bound in `extents`, so that `N,3,H,H` must be square.
std::optional<std::string> find_mismatch(const ShapePattern& source, uint64_t source_dtypes, const Port& port,
                                         Extents& extents);

// Reads the result of a component's ports(). Throws Error(plugin) with component and port.
struct PortList {
  std::vector<Port> inputs;
  std::vector<Port> outputs;
};
PortList read_ports(const Component& component, const tenon_port* const* ports, uint64_t count);

// Reads the result of a component's extension TENON_INDEX_INPUTS into its inputs. Throws Error(plugin) with component
// and input.
void read_index_inputs(const Component& component, const tenon_index_input* const* list, uint64_t count,
                       std::vector<Port>& inputs);

// Reads the result of a component's extension TENON_USUAL_SOURCES into its inputs. Throws Error(plugin) with component
// and input.
void read_usual_sources(const Component& component, const tenon_usual_source* list, uint64_t count,
                        std::vector<Port>& inputs);

}  // namespace tenon::components

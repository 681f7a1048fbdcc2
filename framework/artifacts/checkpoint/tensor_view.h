// A non-owning view of a tensor: a name, a dtype, a shape and bytes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "framework/formats/stored_types.h"

namespace tenon::artifacts {

struct TensorView {
  std::string name;            // PyTorch's name of the parameter or buffer
  int32_t dtype;               // TENON_FLOAT32, ...
  std::vector<int64_t> shape;  // empty: a scalar
  const std::byte* data;       // contiguous, row-major, little-endian; may be null if there are no bytes
  uint64_t bytes;              // number of elements times bytes per element
};

using formats::count_bytes;
using formats::find_name_error;
using formats::find_stored_type;
using formats::is_floating_point;
using formats::list_stored_types;
using formats::quote_name;
using formats::StoredType;

}  // namespace tenon::artifacts

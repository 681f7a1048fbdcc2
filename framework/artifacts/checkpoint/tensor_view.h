// A non-owning view of a tensor: a name, a dtype, a shape and bytes. Comparison of two of them.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
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

// Returns an element of a tensor of this dtype. long double represents every value of every stored dtype exactly,
// because the significand has 64 bits.
long double read_element(int32_t dtype, const std::byte* place);

struct TensorDifference {
  uint64_t elements = 0;    // number of elements of each tensor
  uint64_t differing = 0;   // elements with different bits, or with different values if the dtypes differ
  double max_absolute = 0;  // |a - b|; infinity if only one of the two is NaN, or one is infinite
  double max_relative = 0;  // |a - b| / max(|a|, |b|); 0 for two zeros, infinity if |a - b| is infinite
  // Units in the last place: the number of steps of the dtype from one value to the other. Only set if both tensors
  // have the same floating-point dtype. Pairs with a NaN are ignored.
  std::optional<uint64_t> max_ulps;
};

// REQUIRES: equal shapes. 0 and -0 differ in bits but have the difference 0. So do two NaNs with different payloads.
TensorDifference compare_tensors(const TensorView& a, const TensorView& b);

}  // namespace tenon::artifacts

// A tensor as this room knows it: a name, a type, a shape and bytes that somebody else owns.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::artifacts {

struct TensorView {
  std::string name;            // PyTorch's name of the parameter or buffer
  int32_t dtype;               // TENON_FLOAT32, ...
  std::vector<int64_t> shape;  // empty: a scalar
  const std::byte* data;       // contiguous, row-major, little-endian; may be null when there are no bytes
  uint64_t bytes;              // elements times bytes of one
};

// Types as the safetensors format names them. Complex numbers are not among those that Tenon keeps.
struct StoredType {
  int32_t dtype;
  std::string_view name;  // "F32"
  uint64_t bytes;         // of one element
};
const StoredType* find_stored_type(int32_t dtype);          // null: not kept
const StoredType* find_stored_type(std::string_view name);  // null: not kept
std::string_view list_stored_types();                       // "F64, F32, ...", for messages
bool is_floating_point(int32_t dtype);

// Bytes of a tensor; none if a size is negative or the number does not fit int64. A size of 0 does not hide an
// overflow.
std::optional<uint64_t> count_bytes(const std::vector<int64_t>& shape, uint64_t bytes_per_element);

// Why files cannot hold a tensor of this name, as a clause of a message; none if they can.
std::optional<std::string> find_name_mistake(std::string_view name);

// A tensor's name, or anything else from a file, for a message: quoted, escaped and not too long.
std::string quote_name(std::string_view name);

}  // namespace tenon::artifacts

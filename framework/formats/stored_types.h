// The dtypes, sizes and names of tensors in files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace formats {

// The dtypes that Tenon can store, with their safetensors names. Complex dtypes are not supported.
struct StoredType {
  int32_t dtype;
  std::string_view name;  // "F32"
  uint64_t bytes;         // per element
};
const StoredType* find_stored_type(int32_t dtype);          // null: not supported
const StoredType* find_stored_type(std::string_view name);  // null: not supported
std::string_view list_stored_types();                       // "F64, F32, ...", for messages
bool is_floating_point(int32_t dtype);

// Returns the size of a tensor in bytes. None if a size is negative or the number does not fit int64. A size of 0 does
// not hide an overflow of the other sizes.
std::optional<uint64_t> count_bytes(const std::vector<int64_t>& shape, uint64_t bytes_per_element);

// Returns the reason why files cannot store a tensor with this name, as a clause for a message. None if they can.
std::optional<std::string> find_name_error(std::string_view name);

// Formats a tensor name or other text from a file for a message: quoted, escaped and shortened.
std::string quote_name(std::string_view name);

}  // namespace formats

#include "framework/formats/stored_types.h"

#include <tenon/abi.h>

#include <algorithm>
#include <limits>
#include <nlohmann/json.hpp>

#include "framework/formats/safetensors_header.h"

namespace formats {

namespace {

constexpr StoredType kStoredTypes[] = {
    {TENON_FLOAT64, "F64", 8}, {TENON_FLOAT32, "F32", 4}, {TENON_FLOAT16, "F16", 2}, {TENON_BFLOAT16, "BF16", 2},
    {TENON_INT64, "I64", 8},   {TENON_INT32, "I32", 4},   {TENON_INT16, "I16", 2},   {TENON_INT8, "I8", 1},
    {TENON_UINT8, "U8", 1},    {TENON_BOOL, "BOOL", 1},
};

}  // namespace

const StoredType* find_stored_type(int32_t dtype) {
  const auto* found = std::ranges::find(kStoredTypes, dtype, &StoredType::dtype);
  return found == std::end(kStoredTypes) ? nullptr : found;
}

const StoredType* find_stored_type(std::string_view name) {
  const auto* found = std::ranges::find(kStoredTypes, name, &StoredType::name);
  return found == std::end(kStoredTypes) ? nullptr : found;
}

std::string_view list_stored_types() { return "F64, F32, F16, BF16, I64, I32, I16, I8, U8 or BOOL"; }

bool is_floating_point(int32_t dtype) {
  return dtype == TENON_FLOAT64 || dtype == TENON_FLOAT32 || dtype == TENON_FLOAT16 || dtype == TENON_BFLOAT16;
}

std::optional<uint64_t> count_bytes(const std::vector<int64_t>& shape, uint64_t bytes_per_element) {
  uint64_t bytes = bytes_per_element;
  bool is_empty = false;
  for (const int64_t size : shape) {
    if (size < 0) return std::nullopt;
    if (size == 0) is_empty = true;
    const auto factor = static_cast<uint64_t>(std::max<int64_t>(size, 1));
    if (bytes > static_cast<uint64_t>(std::numeric_limits<int64_t>::max()) / factor) return std::nullopt;
    bytes *= factor;
  }
  return is_empty ? 0 : bytes;
}

std::optional<std::string> find_name_error(std::string_view name) {
  if (name == kMetadataKey) return "the format reserves this name";
  if (name.size() > kMaxTensorNameLength)
    return "the name has " + std::to_string(name.size()) + " bytes; a file holds at most " +
           std::to_string(kMaxTensorNameLength);
  try {
    static_cast<void>(nlohmann::json(name).dump());
  } catch (const nlohmann::json::type_error&) {
    return "the name is not UTF-8";
  }
  return std::nullopt;
}

std::string quote_name(std::string_view name) {
  constexpr size_t kMaxLength = 120;
  const bool is_long = name.size() > kMaxLength;
  const nlohmann::json text = std::string(name.substr(0, kMaxLength)) + (is_long ? "..." : "");
  return text.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
}

}  // namespace formats

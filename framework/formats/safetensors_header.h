// Parser for the JSON header of a safetensors file. The file is untrusted.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace formats {

inline constexpr uint64_t kLargestSafetensorsHeader = 100'000'000;  // bytes; the limit of the reference implementation
inline constexpr std::string_view kMetadataKey = "__metadata__";

struct SafetensorsEntry {
  std::string name;
  int32_t dtype;  // TENON_FLOAT32, ...
  std::vector<int64_t> shape;
  uint64_t begin;  // bytes from the start of the data
  uint64_t end;
};

struct SafetensorsHeader {
  std::vector<SafetensorsEntry> tensors;  // in the order of the header
  std::map<std::string, std::string> metadata;
};

// `data_bytes` is the number of bytes after the header. Throws std::invalid_argument with what is wrong, without the
// name of the file, unless all of these hold: the text is JSON of the right form without duplicate names, every dtype
// is known, the offsets match the shapes, the tensors cover the data without gaps or overlaps, and the limits of
// safetensors_limits.h are kept.
SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes);

}  // namespace formats

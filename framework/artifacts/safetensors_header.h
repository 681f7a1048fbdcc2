// The JSON header of a safetensors file, read with the suspicion that a file from elsewhere deserves.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace tenon::artifacts {

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
  std::vector<SafetensorsEntry> tensors;  // in the header's order
  std::map<std::string, std::string> metadata;
};

// `data_bytes` is what the file holds after the header; `file` is for messages. Throws Error(checkpoint) unless the
// text is JSON of the right form without duplicate names, every type is known, every shape's bytes are those of its
// offsets, the tensors cover the data without gap or overlap, and safetensors_limits.h is kept.
SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes, const std::string& file);

}  // namespace tenon::artifacts

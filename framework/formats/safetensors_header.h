// Parser for the JSON header of a safetensors file. The file is untrusted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace formats {

// Limits in addition to those of the format, far above the needs of models. They keep a hostile header of a hundred
// megabytes from using gigabytes of memory.
inline constexpr size_t kMaxSafetensors = 1 << 18;         // number of tensors; also number of metadata entries
inline constexpr size_t kMaxTensorNameLength = 1 << 20;    // bytes; also for a metadata key
inline constexpr size_t kMaxMetadataTextLength = 1 << 24;  // bytes; also for consecutive blanks
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
// is known, the offsets match the shapes, the tensors cover the data without gaps or overlaps, and the limits
// above are kept.
SafetensorsHeader parse_safetensors_header(std::string_view text, uint64_t data_bytes);

}  // namespace formats

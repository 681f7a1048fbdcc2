// How much a safetensors file may hold, beside what the format says: far more than models have. A hostile header of a
// hundred megabytes is not to become gigabytes of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace tenon::artifacts {

inline constexpr size_t kMostSafetensors = 1 << 18;      // tensors; also members of the metadata
inline constexpr size_t kLongestTensorName = 1 << 20;    // bytes; also of a key of the metadata
inline constexpr size_t kLongestMetadataText = 1 << 24;  // bytes; also of blanks in a row

// The JSON parser keeps what it is reading several times over, and writes it into its messages: no text, number or
// stretch of blanks may be as long as the header. Counts the header's bytes, escapes included. Throws
// Error(checkpoint); `file` is for messages. Does not ask whether it is JSON.
void check_header_lengths(std::string_view text, const std::string& file);

}  // namespace tenon::artifacts

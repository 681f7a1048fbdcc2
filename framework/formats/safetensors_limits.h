// Limits of safetensors files in addition to those of the format, far above the needs of models. They keep a hostile
// header of a hundred megabytes from using gigabytes of memory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace formats {

inline constexpr size_t kMaxSafetensors = 1 << 18;         // number of tensors; also number of metadata entries
inline constexpr size_t kMaxTensorNameLength = 1 << 20;    // bytes; also for a metadata key
inline constexpr size_t kMaxMetadataTextLength = 1 << 24;  // bytes; also for consecutive blanks

// Checks the lengths of all strings, numbers and runs of blanks, because the JSON parser keeps several copies of the
// current token and includes it in messages. Lengths are in bytes of the header, including escapes. Throws
// std::invalid_argument. Does not check that the text is JSON.
void check_header_lengths(std::string_view text);

}  // namespace formats

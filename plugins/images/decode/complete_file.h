// Whether an image file breaks off early. Decoders pass a truncated JPEG as a success and fill the rest with grey,
// which a model would be trained on without a word.
#pragma once

#include <cstdint>
#include <span>

namespace images {

enum class Completeness { complete, truncated, unknown_format };

// JPEG: walks the segments (ITU-T T.81, annex B) to the end-of-image marker. PNG: walks the chunks (ISO/IEC 15948) to
// IEND. WebP: looks at the length that it begins with. What follows either is allowed, since cameras append to it.
// Other formats: unknown; read_tiff_header looks at a TIFF's own list of its parts, the other decoders notice.
Completeness judge_completeness(std::span<const uint8_t> file);

}  // namespace images

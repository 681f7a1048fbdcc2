// Detects truncated image files. Decoders accept a truncated JPEG and fill the rest with grey. A model would be trained
// on it without any error.
#pragma once

#include <cstdint>
#include <span>

namespace images {

enum class Completeness { complete, truncated, unknown_format };

// JPEG: walks the segments (ITU-T T.81, annex B) to the end-of-image marker. PNG: walks the chunks (ISO/IEC 15948) to
// IEND. WebP: checks the length at its beginning. Data after the end are allowed, because cameras append them. Other
// formats: unknown. read_tiff_header checks a TIFF's list of parts, and the other decoders detect truncation.
Completeness check_completeness(std::span<const uint8_t> file);

}  // namespace images

// Whether an image file breaks off early. OpenCV passes a truncated JPEG as a success and fills the rest with grey,
// which a model would be trained on without a word.
#pragma once

#include <cstdint>
#include <span>

namespace image_folder {

enum class Completeness { complete, truncated, unknown_format };

// JPEG: walks the segments (ITU-T T.81, annex B) to the end-of-image marker. PNG: walks the chunks (ISO/IEC 15948) to
// IEND. What follows either is allowed, since cameras append to it. Other formats: unknown, their decoders notice.
Completeness judge_completeness(std::span<const uint8_t> file);

}  // namespace image_folder

// The two passes of a separable resize over 8-bit RGB rows: what takes the time when images are scaled.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/images/transforms/resample_weights.h"

namespace images {

// Rows of RGB pixels, `stride` bytes apart.
struct SourceRows {
  const uint8_t* data;
  size_t stride;
  int width;  // pixels
  int height;
};

// `stride` leaves kRowMargin bytes behind a row's last pixel, into which a pass may write.
struct WrittenRows {
  static constexpr size_t kRowMargin = 32;
  uint8_t* data;
  size_t stride;
};

// All implementations give the same bytes: each sum is an exact integer, rounded once.
struct ResamplePasses {
  // Each of source.height rows becomes weights.outputs() pixels.
  void (*horizontal)(const SourceRows& source, const Weights& weights, const WrittenRows& written);
  // Becomes weights.outputs() rows of source.width pixels. Source row 0 is row `first_row` of the axis of the weights.
  // Reads up to kRowMargin bytes behind the end of a source row.
  void (*vertical)(const SourceRows& source, int first_row, const Weights& weights, const WrittenRows& written);
};

extern const ResamplePasses kPortablePasses;

// Null where the compiler or this machine has no AVX2.
const ResamplePasses* avx2_passes();

// The fastest here.
const ResamplePasses& best_passes();

}  // namespace images

// The two passes of a separable resize over 8-bit RGB rows. They take most of the time of scaling.
#pragma once

#include <cstddef>
#include <cstdint>

#include "plugins/images/resample/resample_weights.h"

namespace images {

// Rows of RGB pixels, `stride` bytes apart.
struct SourceRows {
  const uint8_t* data;
  size_t stride;
  int width;  // pixels
  int height;
};

// `stride` leaves kRowMargin bytes after a row's last pixel. A pass may write into them.
struct WrittenRows {
  static constexpr size_t kRowMargin = 32;
  uint8_t* data;
  size_t stride;
};

// All implementations give the same bytes, because each sum is an exact integer and is rounded once.
struct ResamplePasses {
  // Converts each of source.height rows to weights.outputs() pixels.
  void (*horizontal)(const SourceRows& source, const Weights& weights, const WrittenRows& written);
  // Writes weights.outputs() rows of source.width pixels. Source row 0 is row `first_row` of the weights' axis. Reads
  // up to kRowMargin bytes beyond the end of a source row.
  void (*vertical)(const SourceRows& source, int first_row, const Weights& weights, const WrittenRows& written);
};

extern const ResamplePasses kPortablePasses;

// Returns null if the compiler or this machine lacks AVX2.
const ResamplePasses* avx2_passes();

// Returns the fastest implementation on this machine.
const ResamplePasses& best_passes();

}  // namespace images

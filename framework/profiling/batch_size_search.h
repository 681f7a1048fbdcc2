// Searches the largest batch size that fits into memory.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <vector>

namespace tenon::profiling {

struct BatchSizeTrial {
  int64_t batch_size = 0;
  int64_t fixed_bytes = 0;  // the part of the peak that does not depend on the batch
  int64_t saved_bytes = 0;  // what forward keeps for backward
  int64_t peak_bytes = 0;   // of a training step, in total
  double step_seconds = 0;
};

struct BatchSizeLimits {
  int64_t bytes;    // for the peak
  int64_t samples;  // of an epoch; at least 1
};

struct BatchSizeSearch {
  std::vector<BatchSizeTrial> trials;  // by ascending batch size; includes sizes that were tried and did not fit
  int64_t largest = 0;                 // the largest size that fits; 0: none
  bool has_all_samples = false;        // a batch has all samples of an epoch, so memory is not the limit
};

// Returns the measurement of a batch size, or nothing if the memory ran out.
using MeasureBatchSize = std::function<std::optional<BatchSizeTrial>(int64_t batch_size)>;

// Doubles the batch size from 2 while it fits, as Lightning's BatchSizeFinder(mode="power"), and then divides the
// interval in halves, to a multiple of 8 from 8 on. A size is only measured if the line through the peaks of the two
// largest sizes that fit is within the limit there. With one size so far, the line follows from the memory that
// forward keeps for backward. Batches of 1 are measured only if 2 does not fit.
BatchSizeSearch search_batch_size(const BatchSizeLimits& limits, const MeasureBatchSize& measure);

}  // namespace tenon::profiling

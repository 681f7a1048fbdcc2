// train.memory_format = "auto": chooses the faster memory format for images and convolution weights.
#pragma once

#include <optional>

#include "framework/pipeline/build/training.h"

namespace tenon::pipeline {

// Seconds of one batch, forward and backward.
struct FormatTimes {
  double contiguous;
  double channels_last;

  // Another format rounds differently, so the speed-up has to be worth it.
  bool favour_channels_last() const { return channels_last < 0.95 * contiguous; }
};

// Times the first batch in evaluation mode: the minimum of several rounds, the formats alternating. Returns nothing if
// no sample of the batch can be read. Restores weights, gradients and the random state.
std::optional<FormatTimes> time_memory_formats(Training& training);

// Converts the tensors with four dimensions to this format. The tensor objects stay the same. The average of the
// weights restarts.
void set_memory_format(Training& training, config::MemoryFormat format);

// Sets the format if the plan leaves it open. It is contiguous if the run is deterministic, because timings vary, or if
// the model has no tensors with four dimensions. Otherwise rank 0's timings decide for all ranks. Logs the choice. Call
// it before the first step.
void choose_memory_format(Training& training);

}  // namespace tenon::pipeline

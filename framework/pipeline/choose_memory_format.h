// train.memory_format = "auto": how images and the weights of convolutions lie in memory, by what is faster.
#pragma once

#include <optional>

#include "framework/pipeline/training.h"

namespace tenon::pipeline {

// How long a batch takes, forward and backward, in seconds.
struct FormatTimes {
  double contiguous;
  double channels_last;

  // Another format is another rounding, which has to be worth it.
  bool favour_channels_last() const { return channels_last < 0.95 * contiguous; }
};

// Of the first batch, in evaluation mode, the least of several rounds in turn; nothing where none of its samples can be
// read. Weights, gradients and random numbers are afterwards what they were.
std::optional<FormatTimes> time_memory_formats(Training& training);

// Puts the tensors of four dimensions into that format. To everyone who holds them they stay what they are; the average
// of the weights begins anew.
void set_memory_format(Training& training, config::MemoryFormat format);

// Where the plan leaves the format open, sets it: contiguous where the run is to be deterministic, since times differ,
// or the model has no tensors of four dimensions; else by the times, of rank 0 for all. Says in the log what was found.
// Before the first step.
void choose_memory_format(Training& training);

}  // namespace tenon::pipeline

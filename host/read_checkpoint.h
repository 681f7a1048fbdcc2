// What the files of a checkpoint hold, in memory.
#pragma once

#include <filesystem>

#include "framework/artifacts/find_checkpoint.h"
#include "framework/pipeline/recorder.h"
#include "framework/pipeline/train.h"

namespace tenon::host {

// Both throw Error(checkpoint) for a file that cannot be read.
pipeline::Checkpoint read_checkpoint(const artifacts::FoundCheckpoint& found);

// The one that `best` of a run's folder points at, verified.
pipeline::BestCheckpoint read_best_checkpoint(const std::filesystem::path& run);

}  // namespace tenon::host

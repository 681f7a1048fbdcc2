// The parts of a checkpoint that ranks other than 0 write, while rank 0 writes the rest. A part has a temporary name
// next to the checkpoints until rank 0 moves it into the checkpoint. All ranks see the same folder.
#pragma once

#include <atomic>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <string_view>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::artifacts {

// Returns "training.rank2.safetensors", the name of a part of the training state.
std::string name_training_part(int64_t rank);
bool is_training_part(std::string_view name);

// Returns the name that a file with this content has if it is not divided: "model.safetensors" or
// "training.safetensors". Empty: the file has no tensors.
std::string name_content(std::string_view name);

struct CheckpointPart {
  int64_t step;      // of the checkpoint
  int64_t number;    // number of earlier checkpoints of this process, which is the same on all ranks
  int64_t rank;      // for messages
  std::string name;  // in the checkpoint
};

// Writes and syncs a part. `checkpoints`: the checkpoints/ of the run. Throws Error(checkpoint).
void write_checkpoint_part(const std::filesystem::path& checkpoints, const CheckpointPart& part,
                           std::span<const TensorView> tensors);

// Waits until the part is written, and moves it to `folder`. Returns its entry for the manifest. Throws
// Error(checkpoint), also if `is_abandoned` becomes true during the wait.
CheckpointFile take_checkpoint_part(const std::filesystem::path& checkpoints, const CheckpointPart& part,
                                    const std::filesystem::path& folder, const std::atomic<bool>& is_abandoned);

}  // namespace tenon::artifacts

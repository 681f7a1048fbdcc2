// Finds the checkpoint to resume a run from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "framework/artifacts/checkpoint/checkpoint.h"
#include "framework/artifacts/checkpoint/checkpoint_manifest.h"

namespace tenon::artifacts {

struct FoundCheckpoint {
  std::filesystem::path run;     // folder of the run that wrote the checkpoint
  std::filesystem::path folder;  // checkpoint folder; its files are verified
  CheckpointManifest manifest;
  bool is_newest;        // whether it is the newest checkpoint of the run that can be resumed
  bool has_run_crashed;  // see has_crashed()
};

// `what` is
//   "auto"    the newest checkpoint of the newest run with this name; none if that run has finished or has no
//             checkpoint, or if there is no run
//   "latest"  the newest checkpoint of the newest run with this name that has one
//   "best"    the best checkpoint of the newest run with this name that has one
//   a path    the folder of a checkpoint, of a run for its newest checkpoint, or of several runs, such as runs/digits,
//             for the newest run with a checkpoint
// Damaged checkpoints of a run, and those that contain only weights, are skipped with a warning. A damaged checkpoint
// that the caller names is an error. Throws Error(checkpoint) with what was found, what was expected, and another
// intact checkpoint of the run. `read` is passed to verify_checkpoint() for each candidate. The last candidate is the
// result.
std::optional<FoundCheckpoint> find_checkpoint(const std::string& what, const std::filesystem::path& output_dir,
                                               const std::string& name, const ReadCheckpointFile& read);

}  // namespace tenon::artifacts

// The checkpoint that a run goes on from.
#pragma once

#include <filesystem>
#include <optional>
#include <string>

#include "framework/artifacts/checkpoint.h"
#include "framework/artifacts/checkpoint_manifest.h"

namespace tenon::artifacts {

struct FoundCheckpoint {
  std::filesystem::path run;     // the folder of the run that wrote it
  std::filesystem::path folder;  // its own, found whole
  CheckpointManifest manifest;
  bool is_newest;  // of the run's checkpoints that can be resumed
};

// `what` is
//   "auto"    the newest run of this name, unless it has finished: nothing then, nor where there is no run yet, nor
//             where it has left no checkpoint
//   "latest"  the newest run of this name that has a checkpoint
//   "best"    the best checkpoint of the newest run of this name that has one
//   a path    a checkpoint's folder; or a run's, whose newest counts
// Of a run, checkpoints that are damaged are passed over with a warning, and so are those that have weights alone. One
// that is named is refused where it is damaged. Throws Error(checkpoint) saying what was found, what is expected, and
// which other checkpoint of the run is whole.
// `read`: as of verify_checkpoint(), of each checkpoint that may be it, of which the last is.
std::optional<FoundCheckpoint> find_checkpoint(const std::string& what, const std::filesystem::path& output_dir,
                                               const std::string& name, const ReadCheckpointFile& read);

}  // namespace tenon::artifacts

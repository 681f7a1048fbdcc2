// Finds the run, the checkpoint to resume from or the weights that a user names.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"
#include "framework/artifacts/checkpoint/inspect_checkpoint.h"

namespace tenon::artifacts {

struct FoundCheckpoint {
  std::filesystem::path run;     // folder of the run that wrote the checkpoint; empty if it is in no run folder
  std::filesystem::path folder;  // checkpoint folder; its files are verified
  CheckpointManifest manifest;
  bool is_newest;        // whether it is the newest checkpoint of the run that can be resumed
  bool has_run_crashed;  // see has_crashed()
};

// `what` is
//   "auto"    the newest checkpoint of the newest run with this name; none if that run has ended as planned or has no
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

// Returns the folder of the newest run in a folder of runs, such as runs/digits, or of the run that has this folder of
// checkpoints. Returns any other path as it is. The newest run with a checkpoint is taken before one without.
std::filesystem::path find_run(const std::filesystem::path& path);

// Suggests what a path that is neither a checkpoint nor a run may mean, as "; did you mean runs/digits?", or "": one of
// the words, the folder of a run.name in `output_dir`, the checkpoint of a file, or an existing folder with a name like
// it. `output_dir` may be empty.
std::string suggest_checkpoint(const std::filesystem::path& path, const std::vector<std::string>& words,
                               const std::filesystem::path& output_dir);

struct FoundWeights {
  std::filesystem::path file;        // safetensors
  std::filesystem::path checkpoint;  // verified checkpoint folder; empty for a single file
  int64_t epoch = 0;                 // of the checkpoint
  int64_t step = 0;
  std::string monitor = {};  // the metric by which the checkpoint is the best; empty if "best" did not select it
};

// Returns the checkpoint that `latest` or `best` names in a run. A run without these links, such as a copy, has them by
// its checkpoints and by the monitored metric in run.json.
std::optional<std::filesystem::path> find_named_checkpoint(const std::filesystem::path& run, const std::string& link);

// Returns the checkpoint that `latest` or `best` names in the newest run that has it.
std::optional<std::filesystem::path> find_linked_in_runs(const std::string& link,
                                                         const std::filesystem::path& output_dir,
                                                         const std::string& name);

// `what` is "latest" or "best" for that checkpoint of the newest run with this name that has one, the folder of a
// checkpoint, the folder of a run for its newest checkpoint, a folder of runs, such as runs/digits, for that of the
// newest run, or a safetensors file. Throws Error(checkpoint) with what was found and what was expected, also if a
// checkpoint is damaged.
FoundWeights find_weights(const std::string& what, const std::filesystem::path& output_dir, const std::string& name);

}  // namespace tenon::artifacts

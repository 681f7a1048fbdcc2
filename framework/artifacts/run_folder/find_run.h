// Finds the run that a user names by one of its folders.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tenon::artifacts {

// Returns the folder of the newest run in a folder of runs, such as runs/digits, or of the run that has this folder of
// checkpoints. Returns any other path as it is. The newest run with a checkpoint is taken before one without.
std::filesystem::path find_run(const std::filesystem::path& path);

// Suggests what a path that is neither a checkpoint nor a run may mean, as "; did you mean runs/digits?", or "": one of
// the words, the folder of a run.name in `output_dir`, the checkpoint of a file, or an existing folder with a name like
// it. `output_dir` may be empty.
std::string suggest_checkpoint(const std::filesystem::path& path, const std::vector<std::string>& words,
                               const std::filesystem::path& output_dir);

}  // namespace tenon::artifacts

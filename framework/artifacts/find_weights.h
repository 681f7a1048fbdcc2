// Which weights a command works with: a run's newest checkpoint, one that is named, or a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace tenon::artifacts {

struct FoundWeights {
  std::filesystem::path file;        // safetensors
  std::filesystem::path checkpoint;  // its folder, as verify_checkpoint() found it whole; empty for a file alone
  int64_t epoch = 0;                 // of the checkpoint
  int64_t step = 0;
};

// The run folders in `output_dir`/`name`, the newest first: their names are times, see make_run_folder(). None where
// there is no such folder.
std::vector<std::filesystem::path> list_runs(const std::filesystem::path& output_dir, const std::string& name);

// What the link `latest` or `best` points at, of the newest of these runs that has it.
std::optional<std::filesystem::path> find_linked_in_runs(const std::string& link,
                                                         const std::filesystem::path& output_dir,
                                                         const std::string& name);

// `what` is "latest" or "best", for that checkpoint of the newest run of this name that has one; or a checkpoint's
// folder, a run's, whose newest checkpoint counts, or a safetensors file. Throws Error(checkpoint) saying what was
// found and what is expected, also where a checkpoint is damaged.
FoundWeights find_weights(const std::string& what, const std::filesystem::path& output_dir, const std::string& name);

}  // namespace tenon::artifacts

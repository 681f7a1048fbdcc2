// Finds the weights for a command: the newest checkpoint of a run, a named checkpoint, or a file.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

namespace tenon::artifacts {

struct FoundWeights {
  std::filesystem::path file;        // safetensors
  std::filesystem::path checkpoint;  // verified checkpoint folder; empty for a single file
  int64_t epoch = 0;                 // of the checkpoint
  int64_t step = 0;
};

// Returns the target of the link `latest` or `best` of the newest run that has this link.
std::optional<std::filesystem::path> find_linked_in_runs(const std::string& link,
                                                         const std::filesystem::path& output_dir,
                                                         const std::string& name);

// `what` is "latest" or "best" for that checkpoint of the newest run with this name that has one, the folder of a
// checkpoint, the folder of a run for its newest checkpoint, a folder of runs, such as runs/digits, for that of the
// newest run, or a safetensors file. Throws Error(checkpoint) with what was found and what was expected, also if a
// checkpoint is damaged.
FoundWeights find_weights(const std::string& what, const std::filesystem::path& output_dir, const std::string& name);

}  // namespace tenon::artifacts

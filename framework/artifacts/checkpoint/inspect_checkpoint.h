// Inspection of checkpoints and weights on disk, which may be damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"

namespace tenon::artifacts {

// Converts a step to a folder name such as "step-00000120", and back. None for any other name.
std::string name_checkpoint_folder(int64_t step);
std::optional<int64_t> parse_checkpoint_folder(const std::string& name);

// Returns the checkpoints of a run, newest first, by the names of the folders in its checkpoints/. Empty if there is no
// such folder. Throws Error if the folder cannot be listed.
std::vector<std::filesystem::path> list_checkpoint_folders(const std::filesystem::path& checkpoints);

// Returns `path` if it is a file or a checkpoint folder. For a run folder returns the newest checkpoint: the target of
// `latest` or, without that link, the checkpoint with the highest step. Throws Error(checkpoint) if there is none.
std::filesystem::path find_inspected(const std::filesystem::path& path);

// Whether `path` is a run folder, which contains checkpoints/.
bool is_run_folder(const std::filesystem::path& path);

// Reads manifest.json of a checkpoint folder without checking digests. Throws Error(checkpoint).
std::string read_manifest_text(const std::filesystem::path& checkpoint);
CheckpointManifest read_manifest(const std::filesystem::path& checkpoint);

// Returns the newest other checkpoint of the same run that passes verify_checkpoint().
std::optional<std::filesystem::path> find_fallback(const std::filesystem::path& checkpoint);

// Describes the damage of a checkpoint file, as the rest of a sentence. None if the file matches the manifest.
std::optional<std::string> find_damage(const std::filesystem::path& checkpoint, const CheckpointFile& expected);

}  // namespace tenon::artifacts

// A checkpoint, or weights, as somebody finds them on the disk: perhaps damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "framework/artifacts/checkpoint_manifest.h"

namespace tenon::artifacts {

// "step-00000120", and back; none for any other name.
std::string name_checkpoint_folder(int64_t step);
std::optional<int64_t> parse_checkpoint_folder(const std::string& name);

// Checkpoints of a run, by the names of the folders in its checkpoints/: the newest first. None where there is no such
// folder.
std::vector<std::filesystem::path> list_checkpoint_folders(const std::filesystem::path& checkpoints);

// `path` itself, where it is the folder of a checkpoint or a file; of a run's folder the newest checkpoint: what
// `latest` names, and without that link the one of the highest step. Throws Error(checkpoint) if there is nothing.
std::filesystem::path find_inspected(const std::filesystem::path& path);

// Whether `path` is a run's folder: it has checkpoints/.
bool is_run_folder(const std::filesystem::path& path);

// manifest.json of a checkpoint's folder, without a look at the digests. Throws Error(checkpoint).
std::string read_manifest_text(const std::filesystem::path& checkpoint);
CheckpointManifest read_manifest(const std::filesystem::path& checkpoint);

// The newest checkpoint beside this one that verify_checkpoint() finds whole.
std::optional<std::filesystem::path> find_fallback(const std::filesystem::path& checkpoint);

// What is the matter with a file of a checkpoint, as the rest of a sentence; none: it is as the manifest says.
std::optional<std::string> find_damage(const std::filesystem::path& checkpoint, const CheckpointFile& expected);

}  // namespace tenon::artifacts

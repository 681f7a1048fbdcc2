// Inspects and verifies checkpoints and weights on disk, which may be damaged.
#pragma once

#include <cstdint>
#include <filesystem>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "framework/artifacts/checkpoint/checkpoint_manifest.h"

namespace tenon::artifacts {

// Digests of the files of a checkpoint. The manifest contains the digests of all other files, and manifest.xxh128
// contains the digest of the manifest.

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr uint64_t kMostManifestBytes = 16 << 20;
inline constexpr const char* kManifestDigestFile = "manifest.xxh128";

// Returns the content of manifest.xxh128 for this manifest text. `xxhsum -c` verifies it.
std::string format_manifest_digest(std::string_view manifest_text);

// Returns the path without symbolic links, or the path itself if it cannot be resolved.
std::filesystem::path resolve_links(const std::filesystem::path& path);

// Converts a step to a folder name such as "step-00000120", and back. None for any other name.
std::string name_checkpoint_folder(int64_t step);
std::optional<int64_t> parse_checkpoint_folder(const std::string& name);
// The same for a name with fewer or more zeros.
std::optional<int64_t> parse_step(const std::string& name);

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

// Reads a file of a checkpoint and returns its XXH128. The function is called on several threads.
using ReadCheckpointFile = std::function<std::string(const std::filesystem::path& file)>;
// Only computes the digest. Throws Error(checkpoint) if the file cannot be read.
std::string read_checkpoint_digest(const std::filesystem::path& file);

// Compares every file with its size and XXH128 in the manifest. Returns the manifest. Throws Error(checkpoint) that
// names the missing or different file. The caller may use the results of `read` only if this function returns.
CheckpointManifest verify_checkpoint(const std::filesystem::path& checkpoint,
                                     const ReadCheckpointFile& read = read_checkpoint_digest);

// Whether verify_checkpoint() accepts the checkpoint.
bool is_intact(const std::filesystem::path& checkpoint);

// Compares one file of a checkpoint, such as model.safetensors, with the manifest in its folder. A file outside of a
// checkpoint passes. Throws Error(checkpoint) if the file or the manifest was damaged or changed. Follows links.
void verify_checkpoint_file(const std::filesystem::path& file);

// Returns the frozen parameters that the model.safetensors of a checkpoint lacks, by the manifest in its folder. Empty
// for any other file. Follows links. Throws Error(checkpoint) if the manifest was damaged or changed.
ExcludedTensors find_excluded_tensors(const std::filesystem::path& file);

// Returns the newest other checkpoint of the same run that passes verify_checkpoint().
std::optional<std::filesystem::path> find_fallback(const std::filesystem::path& checkpoint);

// Describes the damage of a checkpoint file, as the rest of a sentence. None if the file matches the manifest.
std::optional<std::string> find_damage(const std::filesystem::path& checkpoint, const CheckpointFile& expected);

}  // namespace tenon::artifacts

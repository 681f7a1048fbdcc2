// Digests of the files of a checkpoint. The manifest contains the digests of all other files, and manifest.xxh128
// contains the digest of the manifest.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "framework/artifacts/checkpoint_manifest.h"

namespace tenon::artifacts {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kManifestDigestFile = "manifest.xxh128";

// Returns name, size and XXH128 of a file. Throws Error(checkpoint) if it is not a file or cannot be read.
CheckpointFile describe_checkpoint_file(const std::filesystem::path& file);

// Returns the content of manifest.xxh128 for this manifest text. `xxhsum -c` verifies it.
std::string print_manifest_digest(std::string_view manifest_text);

}  // namespace tenon::artifacts

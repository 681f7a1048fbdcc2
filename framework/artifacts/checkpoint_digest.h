// How the files of a checkpoint vouch for one another: the manifest holds the digests of all others, manifest.xxh128
// that of the manifest.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "framework/artifacts/checkpoint_manifest.h"

namespace tenon::artifacts {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kManifestDigestFile = "manifest.xxh128";

// Name, size and XXH128 of a file. Throws Error(checkpoint) if it is no file or cannot be read.
CheckpointFile describe_checkpoint_file(const std::filesystem::path& file);

// manifest.xxh128 for a manifest of this text: what `xxhsum -c` verifies.
std::string print_manifest_digest(std::string_view manifest_text);

}  // namespace tenon::artifacts

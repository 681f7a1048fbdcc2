// How the files of a checkpoint vouch for one another: the manifest holds the digests of all others, manifest.sha256
// that of the manifest.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "framework/artifacts/checkpoint_manifest.h"

namespace tenon::artifacts {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr const char* kManifestDigestFile = "manifest.sha256";

// Name, size and SHA-256 of a file. Throws Error(checkpoint) if it is no file or cannot be read.
CheckpointFile describe_checkpoint_file(const std::filesystem::path& file);

// manifest.sha256 for a manifest of this text: what `sha256sum -c` verifies.
std::string print_manifest_digest(std::string_view manifest_text);

}  // namespace tenon::artifacts

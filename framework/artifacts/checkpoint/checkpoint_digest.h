// Digests of the files of a checkpoint. The manifest contains the digests of all other files, and manifest.xxh128
// contains the digest of the manifest.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace tenon::artifacts {

inline constexpr const char* kManifestFile = "manifest.json";
inline constexpr uint64_t kMostManifestBytes = 16 << 20;
inline constexpr const char* kManifestDigestFile = "manifest.xxh128";

// Returns the size of a file in bytes. Throws Error(checkpoint) if it is not a file or cannot be read.
uint64_t read_checkpoint_file_size(const std::filesystem::path& file);

// Returns the content of manifest.xxh128 for this manifest text. `xxhsum -c` verifies it.
std::string format_manifest_digest(std::string_view manifest_text);

}  // namespace tenon::artifacts

// The memory that this process can still use.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>

namespace tenon::config {

// Returns the memory in bytes that can be allocated without swapping: MemAvailable of /proc/meminfo, and for each
// control group of the process its limit minus what it uses. Files that the system has cached count as free. Reads
// memory.max (version 2) and memory.limit_in_bytes (version 1). Nothing if unknown. `root` replaces "/" in tests.
std::optional<int64_t> read_usable_memory(const std::filesystem::path& root = "/");

}  // namespace tenon::config

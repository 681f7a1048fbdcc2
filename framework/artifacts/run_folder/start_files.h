// The first files of a run. They reach the disk while training starts.
#pragma once

#include <filesystem>
#include <string_view>

#include "framework/artifacts/run_folder/run_folder.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

// Writes a file that other processes see complete or not at all. It survives a power cut only after sync_start().
// Throws an Error of the given kind, with the path and the reason of the system.
void write_unsynced(const std::filesystem::path& path, std::string_view text, support::ErrorKind kind);

// [any thread] Syncs the plan, the record and the folders of a run. Throws Error(system).
void sync_start(const RunFolder& folder);

}  // namespace tenon::artifacts

// The lines of a run's history.jsonl.
#pragma once

#include <filesystem>
#include <vector>

#include "framework/artifacts/history.h"

namespace tenon::host {

// Throws Error(checkpoint) with the file and the line that is none.
std::vector<artifacts::HistoryLine> read_history(const std::filesystem::path& file);

}  // namespace tenon::host

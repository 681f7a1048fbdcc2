// Reads history.jsonl of a run.
#pragma once

#include <filesystem>
#include <vector>

#include "framework/artifacts/run_folder/history.h"

namespace tenon::reporting {

// Throws Error(checkpoint) with the file and the number of the invalid line.
std::vector<artifacts::HistoryLine> read_history(const std::filesystem::path& file);

}  // namespace tenon::reporting

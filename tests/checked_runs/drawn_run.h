// Run files that are drawn at random from the bundled components, with arrays of drawn dtypes and shapes.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>

namespace tenon::checked_runs {

// Writes run.toml and its arrays to the folder, and returns the run file. The same number gives the same files. About
// half of the runs fit together; the others differ from such a run in one dtype, shape, component or parameter.
std::filesystem::path draw_run(uint64_t number, const std::filesystem::path& folder);

}  // namespace tenon::checked_runs

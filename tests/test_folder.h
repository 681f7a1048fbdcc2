// The folder that a test case may write to.
#pragma once

#include <filesystem>

namespace tenon {

// The folder of the running test case: TENON_BINARY_DIR/tests/written/PROGRAM/CASE. It is empty when the case starts,
// and it is the working directory. No other case has it, so that cases can run at the same time.
// Call it within a test case: it throws std::logic_error elsewhere, for instance in the initialiser of a global.
const std::filesystem::path& test_folder();

}  // namespace tenon

// The folder that a test case may write to.
#pragma once

#include <filesystem>

namespace tenon {

// The folder of the build, which has the plugins and libraries of the tests. TENON_TEST_BUILD overrides the folder that
// the test was built in, for tests that run on another machine.
std::filesystem::path build_folder();

// The folder of the running test case: build_folder()/tests/written/PROGRAM/CASE. It is empty when the case starts,
// and it is the working directory. No other case has it, so that cases can run at the same time.
// Call it within a test case: it throws std::logic_error elsewhere, for instance in the initialiser of a global.
const std::filesystem::path& test_folder();

}  // namespace tenon

// Runs a program and reads its output.
#pragma once

#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tenon::artifacts {

// Runs a program in PATH and returns the first `limit` bytes of its standard output. Its standard input is empty, and
// its standard error is discarded. `settings` ("NAME=value") override the environment. None if the program cannot be
// started, does not exit with status 0, or exceeds the timeout. In the last case it is killed.
std::optional<std::string> read_program_output(const std::vector<std::string>& command,
                                               const std::vector<std::string>& settings,
                                               std::chrono::milliseconds timeout, size_t limit = size_t{64} << 10);

}  // namespace tenon::artifacts

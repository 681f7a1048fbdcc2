// Runs a program for its answer.
#pragma once

#include <chrono>
#include <optional>
#include <string>
#include <vector>

namespace tenon::artifacts {

// The first 64 KiB of what the program writes to its standard output, found by PATH, with nothing to read, its standard
// error discarded, `settings` ("NAME=value") in place of those of the environment. None if it cannot be started, does
// not end with status 0, or not within the time (it is then killed).
std::optional<std::string> read_program_output(const std::vector<std::string>& command,
                                               const std::vector<std::string>& settings,
                                               std::chrono::milliseconds timeout);

}  // namespace tenon::artifacts

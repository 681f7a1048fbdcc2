// Reads run.toml and what the command line sets over it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/config/run_config.h"

namespace tenon::config {

// Reads the file and applies `--set key.path=value` in order, `value` being TOML (a bare word that is not TOML is taken
// as a string). Throws Error(configuration): the file cannot be read, is not TOML, or (all of them listed, each on its
// line with file:line:column) has unknown keys, values of the wrong type or out of range. Positions of overrides read
// `--set train.epochs`.
RunConfig read_run_config(const std::filesystem::path& file, const std::vector<std::string>& overrides);

}  // namespace tenon::config

// Reads run.toml and what the command line sets over it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/config/run_config.h"
#include "framework/config/table_reader.h"

namespace tenon::config {

// Reads the file and applies `--set key.path=value` in order, `value` being TOML (a bare word that is not TOML is taken
// as a string). Throws Error(configuration): the file cannot be read, is not TOML, or (all of them listed, each on its
// line with file:line:column) has unknown keys, values of the wrong type or out of range. Positions of overrides read
// `--set train.epochs`. `plugin_directories` are those of the command line, relative ones to the working directory:
// kept, so that the plan of the run names everything that it takes to do the run again.
RunConfig read_run_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                          const std::vector<std::filesystem::path>& plugin_directories = {});

// Every key that a run file can have, as read_run_config() asks for it. Of validation data it is the one dataset's.
std::vector<AskedKey> list_run_file_keys();

}  // namespace tenon::config

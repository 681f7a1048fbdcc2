// Reads the run file and applies the overrides of the command line.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/config/file/run_config.h"
#include "framework/config/file/table_reader.h"

namespace tenon::config {

// Reads the file and applies `--set key.path=value` in order. `value` is TOML; a bare word that is not TOML is a
// string. Throws Error(configuration) if the file cannot be read, is not TOML, has unknown keys, or has values of the
// wrong type or out of range. The message lists all such errors, one per line with file:line:column. The location of an
// override is `--set train.epochs`. `plugin_directories` are those of the command line; relative ones start from the
// working directory. They are kept, so that the plan is complete and can reproduce the run.
RunConfig read_run_config(const std::filesystem::path& file, const std::vector<std::string>& overrides,
                          const std::vector<std::filesystem::path>& plugin_directories = {});

// Returns every key that read_run_config() reads from a run file. For validation data it lists the keys of a single
// dataset.
std::vector<RequestedKey> list_run_file_keys();

// The policy of a key of a plan: "train.epochs", "loss[0].params.smoothing". A key that no run file has is reported.
ResumePolicy find_resume_policy(const std::string& key);

}  // namespace tenon::config

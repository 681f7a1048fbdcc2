// The variants of `host compare`: each run file with each combination of values.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/reporting/comparison/comparison_table.h"

namespace tenon::host {

using reporting::Variant;

// Returns each file with each combination of values. The last key varies fastest. `varied`: the arguments of --vary,
// such as `train.precision=fp32,bf16`, in which commas within brackets, braces and quotes belong to a value. `paired`:
// those of --with, which change together with the only --vary. Throws Error(configuration) if a key is missing or a
// value is empty, if two variants have the same name or if the numbers of values differ.
std::vector<Variant> list_variants(const std::vector<std::filesystem::path>& configs,
                                   const std::vector<std::string>& varied, const std::vector<std::string>& paired = {});

// Converts a variant's name to a folder name.
std::string name_folder(const std::string& name);

}  // namespace tenon::host

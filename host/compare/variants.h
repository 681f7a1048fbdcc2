// The variants of `host compare`: each run file with each combination of values.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/reporting/comparison/comparison_table.h"

namespace tenon::host {

using reporting::Variant;

// Splits `train.precision=fp32,bf16`, an argument of `option`, into one override for each value. Commas within
// brackets, braces and quotes belong to a value. Throws Error(configuration) if the key is missing or a value is empty.
std::vector<std::string> split_varied(const std::string& text, const std::string& option = "--vary");

// Returns each file with each combination of values. The last key varies fastest. `varied`: the arguments of --vary.
// `paired`: those of --with, which change together with the only --vary. Throws as split_varied() does, and
// Error(configuration) if two variants have the same name or if the numbers of values differ.
std::vector<Variant> list_variants(const std::vector<std::filesystem::path>& configs,
                                   const std::vector<std::string>& varied, const std::vector<std::string>& paired = {});

// Converts a variant's name to a folder name.
std::string name_folder(const std::string& name);

}  // namespace tenon::host

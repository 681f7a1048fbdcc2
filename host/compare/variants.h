// The variants of `host compare`: each run file with each combination of values.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "framework/reporting/comparison/variant.h"

namespace tenon::host {

using reporting::Variant;

// Splits `train.precision=fp32,bf16` into one override for each value. Commas within brackets, braces and quotes belong
// to a value. Throws Error(configuration) if the key is missing or a value is empty.
std::vector<std::string> split_varied(const std::string& text);

// Returns each file with each combination of values. The last key varies fastest. `varied`: the arguments of --vary.
// Throws as split_varied() does, and Error(configuration) if two variants have the same name.
std::vector<Variant> list_variants(const std::vector<std::filesystem::path>& configs,
                                   const std::vector<std::string>& varied);

// Converts a variant's name to a folder name.
std::string name_folder(const std::string& name);

}  // namespace tenon::host

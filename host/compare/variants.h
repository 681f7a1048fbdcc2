// The runs that are compared: run files, by values that vary, by seeds.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace tenon::host {

struct Variant {
  std::string name;  // what tells it from the others: "precision=bf16", "resnet, lr=0.1"
  std::filesystem::path config;
  std::vector<std::string> overrides;  // "key=value", over those of the command line
};

// `train.precision=fp32,bf16` as one override for each value; commas within brackets, braces and quotes belong to a
// value. Throws Error(configuration) where there is no key, or a value that is empty.
std::vector<std::string> split_varied(const std::string& text);

// Each file with each combination of values, the last key varying fastest. `varied`: as --vary was given, each once.
// Throws as split_varied() does, and Error(configuration) for two variants of one name.
std::vector<Variant> list_variants(const std::vector<std::filesystem::path>& configs,
                                   const std::vector<std::string>& varied);

// Of a variant, as a folder may be called.
std::string name_folder(const std::string& name);

}  // namespace tenon::host

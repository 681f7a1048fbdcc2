// A run file with the files that it extends.
#pragma once

#include <filesystem>
#include <map>
#include <string>

#include "framework/config/toml/diagnostics.h"
#include "framework/config/toml/toml_tree.h"

namespace tenon::config {

struct ExtendedFile {
  Node document;  // without the keys `extends`; each value has its location
  // The absolute folder of each file, by the name of the file in locations.
  std::map<std::string, std::filesystem::path> folders;
};

// Reads the file and the files that it extends: `extends = "base.toml"` at its top level, relative to the file. Tables
// are merged key by key, and the values of the extending file apply. Lists are replaced as a whole. A table with
// another `use` replaces the table that it extends, because parameters belong to a component. In strings, `${NAME}` is
// replaced by the environment variable, `${NAME:-text}` by the text if the variable is not set, and `$${` by `${`.
//
// Throws Error(configuration) if a file cannot be read or is not TOML, for files that extend each other and for
// variables that are not set, with the location of the key.
ExtendedFile read_extended_file(const std::filesystem::path& file);

// Replaces `${` by `$${`, so that a run file has the text.
std::string escape_variables(const std::string& text);

// Removes the key of the run file that the override `key` excludes: train.epochs for train.steps. Keys of other
// overrides stay.
void drop_excluded_key(Node& document, const std::string& key);

// The tables of [data].
inline constexpr const char* kTrain = "train";
inline constexpr const char* kValidation = "validation";
inline constexpr const char* kTest = "test";

// Completes validation and test data with `like` by the `use` and `params` of the dataset that it names, except those
// that they set. Removes the key. Adds errors to `diagnostics`.
void apply_like(Node& document, Diagnostics& diagnostics);

}  // namespace tenon::config

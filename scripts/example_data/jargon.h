#pragma once

#include <filesystem>

namespace example_data {

// Writes jargon.txt for the dataset text_windows: the Jargon File 4.4.7 (public domain), 1.7 MB of English in UTF-8,
// from the Debian package jargon-text, which scripts/example-data downloads. Throws std::runtime_error if the file is
// missing.
void write_jargon(const std::filesystem::path& folder);

}  // namespace example_data

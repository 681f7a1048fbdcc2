#pragma once

#include <filesystem>

namespace example_data {

// For the dataset text_windows: jargon.txt, the Jargon File 4.4.7 (public domain), 1.7 MB of English in UTF-8, from
// Debian's package jargon-text. Throws std::runtime_error saying how to get it if it is not installed.
void write_jargon(const std::filesystem::path& folder);

}  // namespace example_data

#pragma once

#include <filesystem>

namespace example_data {

// For the dataset text_pairs: train.tsv and validation.tsv with the columns package, source, the long description of a
// Debian package in one line, and target, its synopsis, of each package that apt's lists know in English. A tenth of
// the source packages is for validation, with all of their packages; versions of one source (gcc-11, gcc-12) are taken
// for the same. Left out are packages whose text and synopsis another one has, whose text has fewer than eight words,
// or has the synopsis in it word for word: copying is not what these are to teach. Prints how many those were. The same
// files for the same lists. Throws std::runtime_error saying how to get them if apt has no lists with descriptions.
void write_descriptions(const std::filesystem::path& folder);

}  // namespace example_data

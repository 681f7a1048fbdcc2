#pragma once

#include <filesystem>

namespace example_data {

// Writes train.tsv and validation.tsv for the dataset text_pairs, with one row for each package with an English
// description in the apt lists. The columns are package, source (the long description in one line) and target (the
// synopsis). A tenth of the source packages is for validation, with all their packages. Versions of one source (gcc-11,
// gcc-12) count as one source package. Skips duplicates, texts with fewer than eight words, and texts that contain the
// synopsis verbatim, because the model should not learn to copy. Prints the number of skipped packages. The same lists
// give the same files. Throws std::runtime_error if apt has no lists with descriptions.
void write_descriptions(const std::filesystem::path& folder);

}  // namespace example_data

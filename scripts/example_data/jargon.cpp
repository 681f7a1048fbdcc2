#include "scripts/example_data/jargon.h"

#include <cstdlib>

#include "scripts/example_data/output_files.h"
#include "scripts/example_data/source_files.h"

namespace example_data {

void write_jargon(const std::filesystem::path& folder) {
  const char* const book = std::getenv("TENON_JARGON");
  write_file(folder / "jargon.txt", read_gzip_file(book ? book : "jargon.txt.gz",
                                                   "expected the book of Debian's package jargon-text, the file set by "
                                                   "TENON_JARGON; scripts/example-data downloads it"));
}

}  // namespace example_data

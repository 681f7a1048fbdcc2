#include "scripts/example_data/jargon.h"

#include "scripts/example_data/output_files.h"
#include "scripts/example_data/source_files.h"

namespace example_data {
namespace {

constexpr const char* kBook = "/usr/share/doc/jargon-text/jargon.txt.gz";
constexpr const char* kRemedy =
    "expected the book of Debian's package jargon-text; install it with `apt-get install jargon-text`, or, where dpkg "
    "leaves documentation out as in many containers, `apt-get download jargon-text && dpkg-deb -x jargon-text_*.deb /`";

}  // namespace

void write_jargon(const std::filesystem::path& folder) {
  write_file(folder / "jargon.txt", read_gzip_file(kBook, kRemedy));
}

}  // namespace example_data

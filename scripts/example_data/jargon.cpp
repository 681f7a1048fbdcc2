#include "scripts/example_data/jargon.h"

#include <zlib.h>

#include <array>
#include <memory>
#include <stdexcept>
#include <string>

#include "scripts/example_data/output_files.h"

namespace example_data {
namespace {

constexpr const char* kBook = "/usr/share/doc/jargon-text/jargon.txt.gz";

std::string read_gzip_file(const char* path) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path, "rb"), &gzclose);
  if (!file) {
    throw std::runtime_error(std::string(path) +
                             ": cannot be read; expected the book of Debian's package jargon-text; install it with "
                             "`apt-get install jargon-text`, or, where dpkg leaves documentation out as in many "
                             "containers, `apt-get download jargon-text && dpkg-deb -x jargon-text_*.deb /`");
  }
  std::string text;
  std::array<char, 1 << 16> part;
  int size = 0;
  while ((size = gzread(file.get(), part.data(), part.size())) > 0) text.append(part.data(), static_cast<size_t>(size));
  int error = Z_OK;
  const char* const what = gzerror(file.get(), &error);
  if (size < 0 || error != Z_OK) throw std::runtime_error(std::string(path) + ": is damaged: " + what);
  return text;
}

}  // namespace

void write_jargon(const std::filesystem::path& folder) { write_file(folder / "jargon.txt", read_gzip_file(kBook)); }

}  // namespace example_data

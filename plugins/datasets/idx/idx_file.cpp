#include "plugins/datasets/idx/idx_file.h"

#include <algorithm>

#include <tenon/error.hpp>

namespace idx {
namespace {

constexpr uint8_t kUnsignedBytes = 0x08;
constexpr size_t kMagic = 4;

int64_t read_extent(std::span<const uint8_t> bytes) {
  return int64_t{bytes[0]} << 24 | int64_t{bytes[1]} << 16 | int64_t{bytes[2]} << 8 | bytes[3];
}

void check_magic(std::span<const uint8_t> bytes, size_t dimensions, const std::string& path, const std::string& what) {
  const std::string expected = "; expected " + what + ": an IDX file of unsigned bytes in " +
                               std::to_string(dimensions) + (dimensions == 1 ? " dimension" : " dimensions");
  if (bytes.size() >= 2 && bytes[0] == 0x1F && bytes[1] == 0x8B) {
    throw tenon::DataError(path + ": is compressed by gzip" + expected + "; uncompress it with gunzip");
  }
  if (bytes.size() < kMagic || bytes[0] != 0 || bytes[1] != 0) {
    throw tenon::DataError(path + ": does not begin like an IDX file" + expected);
  }
  if (bytes[2] != kUnsignedBytes || bytes[3] != dimensions) {
    throw tenon::DataError(path + ": holds elements of type " + std::to_string(bytes[2]) + " in " +
                           std::to_string(bytes[3]) + " dimensions" + expected + ", type 8");
  }
  if (bytes.size() < kMagic + 4 * dimensions) throw tenon::DataError(path + ": ends within its header" + expected);
}

}  // namespace

IdxFile::IdxFile(const std::string& path, size_t dimensions, const std::string& what) : file_(path, "an IDX file") {
  file_.check_size(UINT64_MAX);
  const uint64_t header = kMagic + 4 * dimensions;
  const std::vector<uint8_t> start = file_.read(0, std::min(header, file_.size()));
  const std::span<const uint8_t> bytes(start);
  check_magic(bytes, dimensions, path, what);
  const uint64_t elements = file_.size() - header;
  // Divides the file size by each extent, because the product of the extents may overflow.
  size_t per_item = 1;
  bool fits = true;
  for (size_t i = 0; i < dimensions; ++i) {
    shape_.push_back(read_extent(bytes.subspan(kMagic + 4 * i)));
    if (shape_.back() == 0) {
      throw tenon::DataError(path + ": dimension " + std::to_string(i + 1) + " is 0; expected " + what);
    }
    fits = fits && per_item <= elements / static_cast<size_t>(shape_.back());
    if (fits) per_item *= static_cast<size_t>(shape_.back());
  }
  if (fits && per_item == elements) return;
  std::string found;
  for (const int64_t extent : shape_) found += (found.empty() ? "" : " x ") + std::to_string(extent);
  throw tenon::DataError(path + ": holds " + std::to_string(elements) + " bytes after its header, which says " + found +
                         "; fetch the file again");
}

uint64_t IdxFile::begin() const { return kMagic + 4 * shape_.size(); }

void IdxFile::read(int64_t index, std::vector<uint8_t>& bytes) const {
  bytes.resize((file_.size() - begin()) / static_cast<uint64_t>(shape_.front()));
  file_.read(begin() + static_cast<uint64_t>(index) * bytes.size(), bytes);
}

std::vector<uint8_t> IdxFile::read_all() const { return file_.read(begin(), file_.size() - begin()); }

}  // namespace idx

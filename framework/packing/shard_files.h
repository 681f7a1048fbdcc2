// Writes the files of a shard: a tar archive and the members that store the fields of samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "framework/artifacts/files/durable_file.h"
#include "framework/data/sample_source.h"

namespace tenon::packing {

// Returns the size of a member in the file in bytes, including its headers.
uint64_t count_member_bytes(const std::string& name, uint64_t size);

// Writes reproducible tar files: POSIX ustar without times and owners. Names longer than 100 bytes have a pax header
// (POSIX.1-2001).
class TarWriter {
 public:
  // The file has a temporary name until finish(). The constructor and all functions throw Error(data) with the path and
  // the reason of the system.
  explicit TarWriter(const std::filesystem::path& path) : file_(path, support::ErrorKind::data) {}

  void add(const std::string& name, std::span<const std::byte> content);
  // Writes the end of the archive and renames the file to its final name.
  void finish();

  uint64_t bytes() const { return bytes_; }  // so far

 private:
  void add_entry(const std::string& name, std::span<const std::byte> content, char type);
  void pad();

  artifacts::DurableFile file_;
  uint64_t bytes_ = 0;
};

// The file format of a field of a sample in a shard. tar_shards (plugins/datasets/tar_shards) reads the same values
// back:
//
//   uint8 [H, W, 3]     .png    lossless
//   int64 []            .cls    decimal digits
//   all other           .npy    version 1.0 (numpy.lib.format), little-endian, C order
//
// uint8 [H, W, 1] is also .npy, because image readers return three channels.

struct FieldFile {
  enum class Format { png, cls, npy };
  Format format;
  std::string extension;  // `image.png`; follows the sample number and a dot
};

// Throws Error(configuration) for a dtype without a NumPy dtype, more than 64 dimensions, or a name that a member of a
// shard cannot have.
FieldFile choose_file(const data::Field& field);

// `shape` and `elements` belong to one sample. Throws Error(data) with the reason if they cannot be stored in this
// format.
void encode(const FieldFile& file, int32_t dtype, std::span<const int64_t> shape, std::span<const std::byte> elements,
            std::vector<std::byte>& bytes);

}  // namespace tenon::packing

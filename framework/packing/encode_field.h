// The file format of a field of a sample in a shard. tar_shards (plugins/datasets/tar_shards) reads the same values
// back:
//
//   uint8 [H, W, 3]     .png    lossless
//   int64 []            .cls    decimal digits
//   all other           .npy    version 1.0 (numpy.lib.format), little-endian, C order
//
// uint8 [H, W, 1] is also .npy, because image readers return three channels.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "framework/data/sample_source.h"

namespace tenon::packing {

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

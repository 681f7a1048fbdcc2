// What a field of a sample is as a file in a shard, so that tar_shards (plugins/datasets/tar_shards) reads back what
// was written:
//
//   uint8 [H, W, 3]     .png    lossless
//   int64 []            .cls    decimal digits
//   all other           .npy    version 1.0 (numpy.lib.format), little-endian, C order
//
// uint8 [H, W, 1] is .npy too: readers of images give three channels.
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
  std::string extension;  // `image.png`, what stands behind the sample's number and a dot
};

// Throws Error(configuration) for a dtype that NumPy does not have, and a name that no member of a shard can have.
FieldFile choose_file(const data::Field& field);

// `shape` and `elements` are those of one sample. Throws Error(data) saying why they cannot be such a file.
void encode(const FieldFile& file, int32_t dtype, std::span<const int64_t> shape, std::span<const std::byte> elements,
            std::vector<std::byte>& bytes);

}  // namespace tenon::packing

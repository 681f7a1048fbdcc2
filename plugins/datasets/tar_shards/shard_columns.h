// The stored data of a field, sample by sample: the location of its bytes, or the number of a label.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/tar_shards/shard_fields.h"
#include "plugins/datasets/tar_shards/tar_reader.h"

namespace tar_shards {

struct Stored {
  uint64_t offset;  // in the shard: offset of an image's file, or of an array's first element
  uint64_t size;    // bytes
  uint8_t alternative;
};

class ImageColumn {
 public:
  void add(const TarMember& member, uint8_t alternative);
  const Stored& at(size_t sample) const { return stored_[sample]; }
  size_t size() const { return stored_.size(); }

 private:
  std::vector<Stored> stored_;
};

// Arrays of one dtype and number of dimensions. Extents may differ between samples.
class ArrayColumn {
 public:
  // Reads the header of the .npy member. Throws tenon::DataError prefixed by `place` if the header is damaged, or dtype
  // or number of dimensions differ from those of the earlier samples.
  void add(TarReader& reader, const TarMember& member, uint8_t alternative, const std::string& place);
  const Stored& at(size_t sample) const { return stored_[sample]; }
  size_t size() const { return stored_.size(); }

  int32_t dtype() const { return dtype_; }
  // Returns -1 for an extent that differs between samples.
  std::vector<int64_t> shape() const;
  std::vector<int64_t> shape_of(size_t sample) const;

 private:
  std::vector<Stored> stored_;
  int32_t dtype_ = 0;
  std::vector<int64_t> first_;    // the shape of the first sample
  std::vector<int64_t> extents_;  // [samples, ndim] once a shape differs; empty before
};

// Whole numbers, or indices into a list of class names.
class LabelColumn {
 public:
  LabelColumn(const ShardField& field, const std::vector<std::string>& classes);
  // Throws tenon::DataError prefixed by `place` if the member is not such a number or name.
  void add(TarReader& reader, const TarMember& member, const std::string& place);
  int64_t at(size_t sample) const { return numbers_[sample]; }
  size_t size() const { return numbers_.size(); }

 private:
  int64_t read_json(std::string_view text, const std::string& place) const;
  int64_t number_of_class(const std::string& name, const std::string& place) const;

  std::string json_key_;
  std::map<std::string, int64_t, std::less<>> classes_;
  std::vector<int64_t> numbers_;
};

}  // namespace tar_shards

// The fields of a sample, and their stored data sample by sample: the location of its bytes, or the number of a label.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include <tenon/plugin.hpp>

#include "plugins/datasets/shared/table_targets.h"
#include "plugins/datasets/tar_shards/tar_reader.h"

namespace tar_shards {

// The extension of a member is the part of its base name after the first dot, as in WebDataset: `jpg` in `a/0001.jpg`,
// `image.npy` in `0001.image.npy`.
struct ShardField {
  enum class Kind { image, array, label };
  std::string name;
  Kind kind;
  std::vector<std::string> extensions;  // alternatives; a sample has one of them
  std::string json_key = {};            // key of a label in a .json member

  // Returns for example `a .jpg or a .png`.
  std::string describe_members() const;
};

// Parses `[NAME=]EXTENSION[;EXTENSION...]`, for example `jpg`, `image=jpg;png`, `box=npy`, `label=json:category`. The
// default name is the part before the extension's last dot (`mask` in `mask.png`), or else image, label, array or the
// key. Throws tenon::Error describing the error.
std::vector<ShardField> parse_fields(const std::vector<std::string>& texts);

// Returns the fields of a sample with these extensions: images, arrays and .cls, in their order. Throws tenon::Error if
// two fields would have the same name.
std::vector<ShardField> guess_fields(const std::vector<std::string>& extensions);

// The names of classes in a shard: a member `__class_names__` with a JSON object such as {"label": ["cat", "dog"]}.
// Readers of WebDataset skip members with such names.
inline constexpr const char* kClassNamesMember = "__class_names__";

// Field -> the names of the classes 0, 1, ...
using NamedClasses = std::map<std::string, std::vector<std::string>>;

// Throws tenon::DataError prefixed by `place` if the member has another form.
NamedClasses read_class_names(TarReader& reader, const TarMember& member, const std::string& place);

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
  tables::ClassNumbers classes_;
  std::vector<int64_t> numbers_;
};

}  // namespace tar_shards

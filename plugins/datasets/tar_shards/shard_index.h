// An index of all samples of all shards, built from the headers of their members.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include "framework/formats/regular_file.h"
#include "plugins/datasets/tar_shards/shard_columns.h"
#include "plugins/datasets/tar_shards/tar_reader.h"

namespace tar_shards {

// Lists the files that a path describes. A folder lists its .tar files in byte order, without hidden ones. A path that
// exists is one file. Braces after the last existing folder of a path are expanded from left to right as in a shell:
// {000..009}, with leading zeros kept, or {a,b}. Any other path is one file. Throws tenon::DataError naming the path: a
// folder that cannot be listed, has no .tar file or has compressed ones, or invalid braces. A missing file is reported
// when it is opened.
std::vector<std::string> list_shards(const std::string& path);

// A tar file that many threads read.
class ShardFile final : public ByteSource {
 public:
  using Keep = formats::RegularFile::Keep;

  // Throws tenon::DataError like formats::RegularFile.
  ShardFile(std::string path, Keep keep) : file_(std::move(path), "a tar file", keep) {}

  const std::string& path() const override { return file_.path(); }
  uint64_t size() const override { return file_.size(); }
  void read(uint64_t offset, std::span<uint8_t> bytes) const override { file_.read(offset, bytes); }
  const formats::RegularFile& file() const { return file_; }

 private:
  formats::RegularFile file_;
};

class ShardIndex {
 public:
  using Column = std::variant<ImageColumn, ArrayColumn, LabelColumn>;
  struct Field {
    ShardField field;
    Column column;
  };

  // Reads the headers of all members, and small contents: labels and the headers of arrays. A sample consists of
  // adjacent members with the same name up to the first dot of the base name. As in WebDataset, names without an
  // extension, hidden names and names of the form __name__ are skipped. `fields` has the format of parse_fields; if it
  // is empty, the first sample determines the fields. Throws tenon::DataError naming shard, byte and member or sample:
  // errors from TarReader and the columns, a sample that lacks a field or has it twice, two samples of a shard with the
  // same name, or shards that name their classes differently.
  ShardIndex(const std::vector<std::string>& paths, const std::vector<std::string>& fields,
             const std::vector<std::string>& classes);

  size_t size() const { return key_ends_.size(); }
  const std::vector<Field>& fields() const { return fields_; }
  // The names of the classes of a field, from the shards; empty: the shards do not name them.
  std::vector<std::string> class_names(const ShardField& field) const;
  const ShardFile& shard_of(size_t sample) const;

  // Of names, labels and sizes of all members, of arrays up to 64 MiB, and of pieces of the shards.
  uint64_t hash() const;

  // Returns for example `shards/a.tar: member "0001.jpg" at byte 1536`, for an image or an array.
  std::string describe_member(size_t sample, const ShardField& field, const Stored& stored) const;

 private:
  struct Group;
  static std::vector<ShardField> guess(const Group& first);
  Group read_first_sample() const;
  void add_fields(const std::vector<std::string>& texts, const std::vector<std::string>& classes);
  void add_shard(const ShardFile& shard);
  void add_member(TarReader& reader, const TarMember& member, Group& group);
  void add_classes(TarReader& reader, const TarMember& member);
  void finish(const Group& group, const ShardFile& shard, std::vector<uint64_t>& begins);
  void check_keys(const ShardFile& shard, const std::vector<uint64_t>& begins) const;
  std::string_view key_of(size_t sample) const;

  std::vector<ShardFile> shards_;
  std::vector<size_t> shard_ends_;  // number of samples up to the end of each shard
  std::vector<Field> fields_;
  std::string keys_;  // concatenated
  std::vector<uint64_t> key_ends_;
  std::optional<NamedClasses> classes_;  // of the shards read so far
  std::string classes_place_;            // the first member with names
};

}  // namespace tar_shards

// Chooses the members of a sample that become fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

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

}  // namespace tar_shards

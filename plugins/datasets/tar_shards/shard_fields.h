// Which members of a sample become fields.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace tar_shards {

// What stands behind the first dot of a member's base name is its extension, as in WebDataset: `jpg` of `a/0001.jpg`,
// `image.npy` of `0001.image.npy`.
struct ShardField {
  enum class Kind { image, array, label };
  std::string name;
  Kind kind;
  std::vector<std::string> extensions;  // alternatives, of which a sample has one
  std::string json_key = {};            // of a label from a .json

  // `a .jpg or a .png`
  std::string describe_members() const;
};

// `[NAME=]EXTENSION[;EXTENSION...]`, as in `jpg`, `image=jpg;png`, `box=npy`, `label=json:category`. Without a name it
// is what stands before the extension's last dot (`mask` of `mask.png`), or else image, label, array or the key. Throws
// tenon::Error saying what is wrong.
std::vector<ShardField> parse_fields(const std::vector<std::string>& texts);

// Those that a sample with such extensions has: images, arrays and .cls, in their order. Throws tenon::Error if two
// would have one name.
std::vector<ShardField> guess_fields(const std::vector<std::string>& extensions);

}  // namespace tar_shards

// The names of classes in a shard: a member `__class_names__` with a JSON object such as {"label": ["cat", "dog"]}.
// Readers of WebDataset skip members with such names.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "plugins/datasets/tar_shards/tar_reader.h"

namespace tar_shards {

inline constexpr const char* kClassNamesMember = "__class_names__";

// Field -> the names of the classes 0, 1, ...
using NamedClasses = std::map<std::string, std::vector<std::string>>;

// Throws tenon::DataError prefixed by `place` if the member has another form.
NamedClasses read_class_names(TarReader& reader, const TarMember& member, const std::string& place);

}  // namespace tar_shards

#include "plugins/datasets/tar_shards/shard_classes.h"

#include <algorithm>
#include <cstdint>
#include <span>

#include <nlohmann/json.hpp>
#include <tenon/error.hpp>

namespace tar_shards {

NamedClasses read_class_names(TarReader& reader, const TarMember& member, const std::string& place) {
  using nlohmann::json;
  constexpr uint64_t kMost = uint64_t{64} << 20;
  const auto refuse = [&](const char* what) {
    throw tenon::DataError(place + ": " + what +
                           "; expected a JSON object with a list of names for each field, as host pack writes it; "
                           "pack the dataset again");
  };
  if (member.size > kMost) refuse("has more than 64 MiB");
  const std::span<const uint8_t> bytes = reader.peek(member, member.size);
  const json object = json::parse(bytes.begin(), bytes.end(), nullptr, false);
  if (!object.is_object()) refuse("is not a JSON object");
  NamedClasses classes;
  for (const auto& [field, names] : object.items()) {
    const bool are_names =
        names.is_array() && std::all_of(names.begin(), names.end(), [](const json& name) { return name.is_string(); });
    if (!are_names) refuse("has an entry that is not a list of names");
    classes[field] = names.get<std::vector<std::string>>();
  }
  return classes;
}

}  // namespace tar_shards

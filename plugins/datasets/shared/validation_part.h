// Which samples of one collection are kept for validation, whatever others there are.
#pragma once

#include <cstdint>
#include <string_view>

#include <tenon/random.hpp>

namespace datasets {

// FNV-1a (Fowler, Noll, Vo): the same number on every machine, which std::hash does not promise.
inline uint64_t hash_text(std::string_view text, uint64_t hash = 0xCBF29CE484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

// Whether the sample of that name belongs to the part of about `fraction` of all names that is for validation. A
// function of both alone.
inline bool is_validation_name(std::string_view name, double fraction) {
  // FNV alone leaves similar names with similar numbers; the generator mixes them.
  return tenon::Random(hash_text(name)).uniform() < fraction;
}

}  // namespace datasets

// A small hash that gives the same number on every machine. std::hash does not promise that.
#pragma once

#include <cstdint>
#include <string_view>

namespace components {

// FNV-1a (Fowler, Noll, Vo). `hash` is the hash of the preceding text.
constexpr uint64_t hash_text(std::string_view text, uint64_t hash = 0xCBF29CE484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace components

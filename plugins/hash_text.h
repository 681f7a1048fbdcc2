// One small hash for all that must give the same number on every machine, which std::hash does not promise.
#pragma once

#include <cstdint>
#include <string_view>

namespace plugins {

// FNV-1a (Fowler, Noll, Vo). `hash`: of what comes before the text.
constexpr uint64_t hash_text(std::string_view text, uint64_t hash = 0xCBF29CE484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

}  // namespace plugins

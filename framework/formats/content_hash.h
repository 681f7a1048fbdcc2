// Hashes that give the same number on every machine, which std::hash does not promise.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "framework/formats/regular_file.h"

namespace formats {

// FNV-1a (Fowler, Noll, Vo). `hash` is the hash of the preceding text.
constexpr uint64_t hash_text(std::string_view text, uint64_t hash = 0xCBF29CE484222325u) {
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001B3u;
  return hash;
}

// The same for the elements of a list of numbers.
template <class Number>
uint64_t hash_elements(const std::vector<Number>& numbers, uint64_t hash = hash_text("")) {
  return hash_text({reinterpret_cast<const char*>(numbers.data()), numbers.size() * sizeof(Number)}, hash);
}

// A hash of the contents of files that stays cheap for large ones, for the fingerprint of a dataset. Reads at most 64
// MiB. A large part of a file counts with three pieces. What exceeds the limit counts with its size.
class ContentHash {
 public:
  void add(std::string_view text) { hash_ = hash_text(text, hash_); }
  void add(uint64_t number) { add_elements(std::span<const uint64_t>(&number, 1)); }
  template <class Element>
  void add_elements(std::span<const Element> elements) {
    add(std::string_view(reinterpret_cast<const char*>(elements.data()), elements.size_bytes()));
  }

  // Adds a part of a file. Throws tenon::DataError naming the path if it cannot be read.
  void add(const RegularFile& file, uint64_t offset, uint64_t size) {
    constexpr uint64_t kMostWhole = uint64_t{1} << 20;
    constexpr uint64_t kPiece = uint64_t{64} << 10;
    add(size);
    if (size <= kMostWhole) return read(file, offset, size);
    for (const uint64_t begin : {uint64_t{0}, (size - kPiece) / 2, size - kPiece}) read(file, offset + begin, kPiece);
  }

  uint64_t value() const { return hash_; }

 private:
  void read(const RegularFile& file, uint64_t offset, uint64_t size) {
    if (size > left_) return;
    left_ -= size;
    bytes_.resize(size);
    file.read(offset, bytes_);
    add_elements(std::span<const uint8_t>(bytes_));
  }

  uint64_t hash_ = hash_text("");
  uint64_t left_ = uint64_t{64} << 20;
  std::vector<uint8_t> bytes_;
};

}  // namespace formats

// A hash of the contents of files that stays cheap for large ones, for the fingerprint of a dataset.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "plugins/hash_text.h"
#include "plugins/regular_file.h"

namespace components {

// Reads at most 64 MiB. A large part of a file counts with three pieces. What exceeds the limit counts with its size.
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

}  // namespace components

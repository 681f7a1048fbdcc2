// XXH3 with 128 bits (github.com/Cyan4973/xxHash), as `xxhsum -H128` prints it: tells bytes that were damaged, at the
// speed of memory. It is no protection against somebody who wants two files to look the same: sha256.h is.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace tenon::support {

// Of bytes that come piece by piece.
class Xxh128 {
 public:
  Xxh128();
  void add(std::span<const std::byte> bytes);
  std::string hexadecimal() const;  // of what was added so far: 32 lower-case digits

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

std::string xxh128(std::string_view bytes);
// Throws Error(internal) naming the file if it cannot be read.
std::string read_xxh128(const std::filesystem::path& file);

}  // namespace tenon::support

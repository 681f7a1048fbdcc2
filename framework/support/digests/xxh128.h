// XXH3 with 128 bits (github.com/Cyan4973/xxHash), in the format of `xxhsum -H128`. It detects damaged bytes at the
// speed of memory. It does not protect against deliberate collisions: use sha256.h for that.
#pragma once

#include <cstddef>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>

struct XXH3_state_s;

namespace tenon::support {

// Computes the digest of bytes that arrive in pieces.
class Xxh128 {
 public:
  Xxh128();
  void add(std::span<const std::byte> bytes);
  std::string hexadecimal() const;  // of the bytes so far: 32 lower-case digits

 private:
  struct Free {
    void operator()(XXH3_state_s* state) const;
  };
  std::unique_ptr<XXH3_state_s, Free> state_;
};

std::string xxh128(std::string_view bytes);
// Throws Error(system) that names the file if it cannot be read.
std::string read_xxh128(const std::filesystem::path& file);

}  // namespace tenon::support

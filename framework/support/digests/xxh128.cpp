#include "framework/support/digests/xxh128.h"

#include <unistd.h>
#include <xxhash.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "framework/support/diagnostics/check.h"
#include "framework/support/files/read_file.h"

namespace tenon::support {

void Xxh128::Free::operator()(XXH3_state_s* state) const { XXH3_freeState(state); }

Xxh128::Xxh128() : state_(XXH3_createState()) {
  TENON_CHECK(state_ && XXH3_128bits_reset(state_.get()) == XXH_OK, "xxHash has no memory for its state");
}

void Xxh128::add(std::span<const std::byte> bytes) {
  TENON_CHECK(XXH3_128bits_update(state_.get(), bytes.data(), bytes.size()) == XXH_OK,
              "xxHash failed on " << bytes.size() << " bytes");
}

std::string Xxh128::hexadecimal() const {
  XXH128_canonical_t digest;
  XXH128_canonicalFromHash(&digest, XXH3_128bits_digest(state_.get()));
  std::string text;
  for (const unsigned char byte : digest.digest) {
    text += "0123456789abcdef"[byte >> 4];
    text += "0123456789abcdef"[byte & 15];
  }
  return text;
}

std::string xxh128(std::string_view bytes) {
  Xxh128 hash;
  hash.add(std::as_bytes(std::span(bytes)));
  return hash.hexadecimal();
}

std::string read_xxh128(const std::filesystem::path& file) {
  const auto fail = [&file]() {
    throw Error(ErrorKind::system, file.string() + ": cannot be read: " + std::strerror(errno));
  };
  const FileDescriptor descriptor = open_file(file, {ErrorKind::system});
  Xxh128 hash;
  std::vector<std::byte> chunk(256 << 10);  // fits into the CPU cache between the read and the hash
  for (;;) {
    const ssize_t count = ::read(descriptor.number(), chunk.data(), chunk.size());
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) fail();
    if (count == 0) return hash.hexadecimal();
    hash.add(std::span(chunk).first(static_cast<size_t>(count)));
  }
}

}  // namespace tenon::support

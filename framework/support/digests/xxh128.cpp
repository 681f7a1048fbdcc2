#include "framework/support/digests/xxh128.h"

#include <xxhash.h>

#include "framework/support/diagnostics/check.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"

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
  for (const unsigned char byte : digest.digest) text += fmt::format("{:02x}", byte);
  return text;
}

std::string xxh128(std::string_view bytes) {
  Xxh128 hash;
  hash.add(std::as_bytes(std::span(bytes)));
  return hash.hexadecimal();
}

std::string read_xxh128(const std::filesystem::path& file) {
  Xxh128 hash;
  read_pieces(file, {ErrorKind::system}, [&](std::span<const std::byte> piece) { hash.add(piece); });
  return hash.hexadecimal();
}

}  // namespace tenon::support

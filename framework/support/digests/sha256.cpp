#include "framework/support/digests/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <memory>
#include <span>

#include "framework/support/diagnostics/check.h"
#include "framework/support/files/read_file.h"
#include "framework/support/text/format.h"

namespace tenon::support {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    TENON_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "OpenSSL offers no SHA-256");
  }

  void add(std::span<const std::byte> bytes) {
    TENON_CHECK(EVP_DigestUpdate(context_.get(), bytes.data(), bytes.size()) == 1,
                "OpenSSL failed after " << bytes.size() << " bytes");
  }

  std::string hexadecimal() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    TENON_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1, "OpenSSL failed at the end");
    std::string text;
    for (unsigned int i = 0; i < size; ++i) text += fmt::format("{:02x}", digest[i]);
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

}  // namespace

std::string read_sha256(const std::filesystem::path& file) {
  Sha256 hash;
  read_pieces(file, {ErrorKind::system}, [&](std::span<const std::byte> piece) { hash.add(piece); });
  return hash.hexadecimal();
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(std::as_bytes(std::span(bytes)));
  return hash.hexadecimal();
}

}  // namespace tenon::support

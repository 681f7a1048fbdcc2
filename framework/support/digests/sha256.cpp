#include "framework/support/digests/sha256.h"

#include <openssl/evp.h>

#include <array>
#include <cerrno>
#include <cstring>
#include <memory>
#include <vector>

#include "framework/support/diagnostics/check.h"
#include "framework/support/files/read_file.h"

namespace tenon::support {
namespace {

class Sha256 {
 public:
  Sha256() : context_(EVP_MD_CTX_new(), EVP_MD_CTX_free) {
    TENON_CHECK(context_ && EVP_DigestInit_ex(context_.get(), EVP_sha256(), nullptr) == 1, "OpenSSL offers no SHA-256");
  }

  void add(const char* bytes, size_t count) {
    TENON_CHECK(EVP_DigestUpdate(context_.get(), bytes, count) == 1, "OpenSSL failed after " << count << " bytes");
  }

  std::string hexadecimal() {
    std::array<unsigned char, EVP_MAX_MD_SIZE> digest;
    unsigned int size = 0;
    TENON_CHECK(EVP_DigestFinal_ex(context_.get(), digest.data(), &size) == 1, "OpenSSL failed at the end");
    std::string text;
    for (unsigned int i = 0; i < size; ++i) {
      text += "0123456789abcdef"[digest[i] >> 4];
      text += "0123456789abcdef"[digest[i] & 15];
    }
    return text;
  }

 private:
  std::unique_ptr<EVP_MD_CTX, decltype(&EVP_MD_CTX_free)> context_;
};

[[noreturn]] void throw_unreadable(const std::filesystem::path& file) {
  throw Error(ErrorKind::system, file.string() + ": cannot be read: " + std::strerror(errno));
}

}  // namespace

std::string read_sha256(const std::filesystem::path& file) {
  FileStream stream(file, {ErrorKind::system});
  errno = 0;
  Sha256 hash;
  std::vector<char> chunk(1 << 16);
  do {
    stream.read(chunk.data(), static_cast<std::streamsize>(chunk.size()));
    hash.add(chunk.data(), static_cast<size_t>(stream.gcount()));
  } while (stream);
  if (stream.bad()) throw_unreadable(file);
  return hash.hexadecimal();
}

std::string sha256(std::string_view bytes) {
  Sha256 hash;
  hash.add(bytes.data(), bytes.size());
  return hash.hexadecimal();
}

}  // namespace tenon::support

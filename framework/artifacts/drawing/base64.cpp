#include "framework/artifacts/drawing/base64.h"

#include <openssl/evp.h>

namespace tenon::artifacts {

std::string to_base64(std::span<const std::byte> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with the terminator that OpenSSL writes
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

}  // namespace tenon::artifacts

#include "framework/artifacts/files/encode.h"

#include <openssl/evp.h>
#include <png.h>

#include <algorithm>

#include "framework/formats/strings.h"
#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format.h"
#include "framework/support/text/printable.h"

namespace tenon::artifacts {

namespace {

constexpr int64_t kMaxSide = 1'000'000;  // libpng's PNG_USER_WIDTH_MAX

[[noreturn]] void refuse_png(int64_t height, int64_t width, const std::string& why) {
  throw support::Error(support::ErrorKind::data, "an image of {} x {} pixels cannot be a PNG: {}", width, height, why);
}

}  // namespace

std::string escape_html(std::string_view text) {
  std::string escaped;
  for (const char letter : support::escape_control_characters(text)) {
    switch (letter) {
      case '&': escaped += "&amp;"; break;
      case '<': escaped += "&lt;"; break;
      case '>': escaped += "&gt;"; break;
      case '"': escaped += "&quot;"; break;
      default: escaped += letter;
    }
  }
  return escaped;
}

std::string quote_for_csv(std::string_view text) {
  const std::string safe = support::escape_control_characters(text);
  if (safe.find_first_of(",\"\r\n") == std::string::npos) return safe;
  return '"' + formats::replace_all(safe, "\"", "\"\"") + '"';
}

std::string to_base64(std::span<const std::byte> bytes) {
  std::string text((bytes.size() + 2) / 3 * 4 + 1, '\0');  // with the terminator that OpenSSL writes
  EVP_EncodeBlock(reinterpret_cast<unsigned char*>(text.data()), reinterpret_cast<const unsigned char*>(bytes.data()),
                  static_cast<int>(bytes.size()));
  text.pop_back();
  return text;
}

std::optional<std::string> from_base64(std::string_view text) {
  const auto padding = text.size() - std::min(text.find('='), text.size());
  if (text.size() % 4 != 0 || padding > 2) return std::nullopt;
  std::string bytes(text.size() / 4 * 3, '\0');
  const int decoded =
      EVP_DecodeBlock(reinterpret_cast<unsigned char*>(bytes.data()),
                      reinterpret_cast<const unsigned char*>(text.data()), static_cast<int>(text.size()));
  if (decoded != static_cast<int>(bytes.size())) return std::nullopt;
  bytes.resize(bytes.size() - padding);
  return bytes;
}

void encode_png(std::span<const std::byte> pixels, int64_t height, int64_t width, int64_t channels,
                std::vector<std::byte>& file) {
  if (height < 1 || width < 1) refuse_png(height, width, "expected at least one pixel");
  if (height > kMaxSide || width > kMaxSide)
    refuse_png(height, width, fmt::format("expected sides of {} pixels at most", kMaxSide));
  TENON_CHECK(channels == 1 || channels == 3, channels << " channels");
  TENON_CHECK(pixels.size() == static_cast<size_t>(height * width * channels), pixels.size() << " bytes");
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  file.resize(size);
  if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr) == 0)
    refuse_png(height, width, image.message);
  file.resize(size);
}

}  // namespace tenon::artifacts

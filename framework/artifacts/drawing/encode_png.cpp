#include "framework/artifacts/drawing/encode_png.h"

#include <png.h>

#include <string>

#include "framework/support/diagnostics/check.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::artifacts {

namespace {

constexpr int64_t kMaxSide = 1'000'000;  // libpng's PNG_USER_WIDTH_MAX

[[noreturn]] void refuse(int64_t height, int64_t width, const std::string& why) {
  throw support::Error(support::ErrorKind::data, "an image of " + std::to_string(width) + " x " +
                                                     std::to_string(height) + " pixels cannot be a PNG: " + why);
}

}  // namespace

void encode_png(std::span<const std::byte> pixels, int64_t height, int64_t width, int64_t channels,
                std::vector<std::byte>& file) {
  if (height < 1 || width < 1) refuse(height, width, "expected at least one pixel");
  if (height > kMaxSide || width > kMaxSide) {
    refuse(height, width, "expected sides of " + std::to_string(kMaxSide) + " pixels at most");
  }
  TENON_CHECK(channels == 1 || channels == 3, channels << " channels");
  TENON_CHECK(pixels.size() == static_cast<size_t>(height * width * channels), pixels.size() << " bytes");
  png_image image = {};
  image.version = PNG_IMAGE_VERSION;
  image.width = static_cast<png_uint_32>(width);
  image.height = static_cast<png_uint_32>(height);
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t size = PNG_IMAGE_PNG_SIZE_MAX(image);
  file.resize(size);
  if (png_image_write_to_memory(&image, file.data(), &size, 0, pixels.data(), 0, nullptr) == 0) {
    refuse(height, width, image.message);
  }
  file.resize(size);
}

}  // namespace tenon::artifacts

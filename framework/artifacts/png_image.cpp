#include "framework/artifacts/png_image.h"

#include <png.h>

#include <limits>
#include <string>

#include "framework/support/check.h"
#include "framework/support/error.h"

namespace tenon::artifacts {

std::vector<uint8_t> encode_png(const Picture& picture) {
  TENON_CHECK(picture.channels == 1 || picture.channels == 3, "channels " << picture.channels);
  TENON_CHECK(static_cast<int64_t>(picture.pixels.size()) == picture.height * picture.width * picture.channels,
              "pixels " << picture.pixels.size());
  const auto refuse = [&](const std::string& why) {
    throw support::Error(support::ErrorKind::internal, "a picture of " + std::to_string(picture.height) + " x " +
                                                           std::to_string(picture.width) +
                                                           " pixels cannot be written as PNG: " + why);
  };
  constexpr int64_t kMostPixels = std::numeric_limits<int32_t>::max();
  if (picture.height > kMostPixels || picture.width > kMostPixels) refuse("it is too large");

  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(picture.height);
  image.width = static_cast<png_uint_32>(picture.width);
  image.format = picture.channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  png_alloc_size_t bytes = PNG_IMAGE_PNG_SIZE_MAX(image);
  std::vector<uint8_t> file(bytes);
  if (!png_image_write_to_memory(&image, file.data(), &bytes, /*convert_to_8_bit=*/0, picture.pixels.data(),
                                 /*row_stride=*/0, /*colormap=*/nullptr)) {
    const std::string why = image.message;
    png_image_free(&image);
    refuse(why);
  }
  file.resize(bytes);
  return file;
}

}  // namespace tenon::artifacts

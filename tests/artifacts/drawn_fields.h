// Creates fields of samples from values, and decodes rendered images with an independent reader.
#pragma once

#include <doctest/doctest.h>
#include <png.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "framework/artifacts/checkpoint/tensor_view.h"

namespace tenon::artifacts {

// Returns a view of `values`, which must outlive it.
template <class T>
TensorView view(const std::string& name, int32_t dtype, std::vector<int64_t> shape, const std::vector<T>& values) {
  return {name, dtype, std::move(shape), reinterpret_cast<const std::byte*>(values.data()), values.size() * sizeof(T)};
}

// Returns the pixels of a PNG file. `channels` is 1 or 3.
inline std::vector<uint8_t> decode_png(std::span<const std::byte> file, int64_t channels) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  REQUIRE(png_image_begin_read_from_memory(&image, file.data(), file.size()));
  image.format = channels == 3 ? PNG_FORMAT_RGB : PNG_FORMAT_GRAY;
  std::vector<uint8_t> pixels(PNG_IMAGE_SIZE(image));
  REQUIRE(png_image_finish_read(&image, nullptr, pixels.data(), 0, nullptr));
  return pixels;
}

}  // namespace tenon::artifacts

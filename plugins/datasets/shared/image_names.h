// Which files are images, by their names. Opening a million files would take minutes.
#pragma once

#include <algorithm>
#include <array>
#include <filesystem>
#include <string>
#include <string_view>

namespace datasets {

// The text after the last dot, in lower case: "jpg".
inline std::string extension_in_lower_case(const std::filesystem::path& path) {
  std::string extension = path.extension().native().substr(path.has_extension() ? 1 : 0);
  for (char& c : extension) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return extension;
}

// `extension`: in lower case, without the dot.
inline bool is_image_extension(std::string_view extension) {
  constexpr std::array<std::string_view, 13> kKnown = {"jpg", "jpeg", "jpe", "jfif", "png", "bmp", "webp",
                                                       "tif", "tiff", "pbm", "pgm",  "pnm", "ppm"};
  return std::find(kKnown.begin(), kKnown.end(), extension) != kKnown.end();
}

inline bool is_image_name(const std::filesystem::path& path) {
  return is_image_extension(extension_in_lower_case(path));
}

}  // namespace datasets

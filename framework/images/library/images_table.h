// The functions of tenon/draft/images.h.
#pragma once

#include <tenon/draft/images.h>

namespace images {

// `host` receives errors and log lines. It stays valid until the process ends.
const tenon_images& open_images(const tenon_host& host);

// The name of the function of libtenon_images.so that returns open_images().
inline constexpr const char* kOpenImagesSymbol = "tenon_open_images";
using OpenImagesSymbol = const tenon_images*(const tenon_host*);

}  // namespace images

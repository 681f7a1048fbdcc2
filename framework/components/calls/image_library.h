// The image library libtenon_images.so, which plugins reach through tenon/draft/images.h.
#pragma once

#include <tenon/draft/images.h>

namespace tenon::components {

// Opens the library at the first call, of any thread: it links OpenCV, and most runs read no images. `host` receives
// its errors. If it cannot be opened, tenon_images.create of the result fails with the reason.
const tenon_images& open_image_library(const tenon_host& host);

}  // namespace tenon::components

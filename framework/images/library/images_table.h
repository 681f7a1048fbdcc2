// The functions of tenon/draft/images.h.
#pragma once

#include <tenon/draft/images.h>

namespace images {

// `host` receives errors and log lines. It stays valid until the process ends.
const tenon_images& open_images(const tenon_host& host);

}  // namespace images

// The entry point of libtenon_images.so, which the host opens at the first request of tenon/draft/images.h. It needs no
// LibTorch.
#include "framework/images/library/images_table.h"

extern "C" __attribute__((visibility("default"))) const tenon_images* tenon_open_images(const tenon_host* host) {
  return &images::open_images(*host);
}

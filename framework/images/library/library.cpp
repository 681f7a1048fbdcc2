// The entry point of libtenon_images.so, which the host opens when a plugin first reads an image. It needs no LibTorch.
#include "framework/images/library/images_table.h"

extern "C" __attribute__((visibility("default"))) const tenon_images* tenon_open_images(const tenon_host* host) {
  return &images::open_images(*host);
}

// The entry points of libtenon_images.so, which the host opens at the first request of tenon/draft/images.h. It needs
// no LibTorch.
#include "framework/images/library/images_table.h"

#define TENON_ENTRY extern "C" __attribute__((visibility("default")))

TENON_ENTRY const tenon_images* tenon_open_images(const tenon_host* host,
                                                  const images::PluginTransforms* plugin_transforms) {
  return &images::open_images(*host, plugin_transforms);
}

TENON_ENTRY void tenon_describe_transforms(void* context,
                                           void (*add)(void* context, const images::DescribedTransform* transform)) {
  images::describe_transforms(context, add);
}

static_assert(sizeof(images::OpenImages{tenon_open_images}) > 0 &&
              sizeof(images::DescribeTransforms{tenon_describe_transforms}) > 0);

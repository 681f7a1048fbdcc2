// The entry points of libtenon_images.so, which the host opens at the first request of tenon/draft/images.h. It needs
// no LibTorch.
#include <type_traits>

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

static_assert(std::is_same_v<images::OpenImages, decltype(&tenon_open_images)>);
static_assert(std::is_same_v<images::DescribeTransforms, decltype(&tenon_describe_transforms)>);

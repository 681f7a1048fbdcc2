// The functions of tenon/draft/images.h.
#pragma once

#include <tenon/draft/images.h>

#include "framework/images/transforms/host_interface.h"

namespace images {

// `host` receives errors and log lines. Without `plugin_transforms`, plugins provide no transforms. Both stay valid
// until the process ends.
const tenon_images& open_images(const tenon_host& host, const PluginTransforms* plugin_transforms = nullptr);

// Calls `add` with each transform, in the order of the documentation.
void describe_transforms(void* context, void (*add)(void* context, const DescribedTransform* transform));

}  // namespace images

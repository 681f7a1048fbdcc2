// Calls a transform of a plugin with an image and its moved targets.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include <tenon/draft/images.h>
#include <opencv2/core.hpp>

#include "framework/images/decode/pixels.h"
#include "framework/images/library/target_buffers.h"
#include "framework/images/transforms/plugin_transform.h"

namespace images {

// `pixels`: 8-bit RGB of PixelBuffer::make_guarded(). The transform may change it, and replace it by another image in
// `memory`.
// `described`: the targets before they were moved. `moved`: one for each, which the transform changes. Throws
// tenon::HostError or tenon::Error if the transform fails, returns values that a target cannot have, or does not move
// one of the targets.
void call_plugin_transform(const PluginTransform& transform, uint64_t seed,
                           const std::vector<const tenon_image_target*>& described, std::vector<MovedTarget*>& moved,
                           cv::Mat& pixels, std::array<PixelBuffer, 2>& memory);

}  // namespace images

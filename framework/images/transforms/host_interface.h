// What the host and libtenon_images.so use of each other, besides the table of tenon/draft/images.h. Both are built
// from one source. The library opens no plugins, and the host has no images.
#pragma once

#include <cstdint>

#include <tenon/draft/transforms.h>

namespace images {

// An argument of an entry of a list of transforms.
struct PluginArgument {
  tenon_string name;  // empty: by position
  tenon_string text;  // its value, as written
};

struct PluginTransformInfo {
  double probability;
  uint32_t moved_kinds;      // see tenon_transform
  tenon_string arguments;    // members of a JSON object: `"strength": 0.5`; valid while the transform lives
  tenon_string description;  // `transform "vignette" of plugin lens 1.0.0`; valid while the transform lives
};

// The transforms of plugins, by functions of the host. They report errors as those of plugins do, to tenon_host.fail,
// or to `error`.
struct PluginTransforms {
  // [train] Puts the name of each transform that was found.
  tenon_status (*list)(const tenon_text_sink* names);
  // [train] Returns TENON_INVALID_ARGUMENT if no opened plugin has this transform, and for arguments that its
  // parameters do not allow.
  tenon_status (*create)(tenon_string id, const PluginArgument* arguments, uint64_t count, const tenon_text_sink* error,
                         void** made, PluginTransformInfo* info);
  void (*destroy)(void* made);
  // [train] [worker] As in tenon_transform. Leaves the size as it is without moved_kinds, and makes it -1 without the
  // function.
  tenon_status (*output_size)(void* made, int64_t* height, int64_t* width);
  // [worker]
  tenon_status (*apply)(void* made, tenon_moving_image* image, uint64_t seed);
};

using OpenImages = const tenon_images* (*)(const tenon_host* host, const PluginTransforms* plugin_transforms);
constexpr const char* kOpenImages = "tenon_open_images";

// A transform of the library, for `host describe`. Everything is borrowed for the call of `add`.
struct DescribedArgument {
  tenon_string name;
  tenon_string values;         // `a number in [0, 1]`
  tenon_string default_value;  // as written in a list; empty: required
  tenon_string doc;
};
struct DescribedTransform {
  tenon_string name;
  tenon_string doc;
  tenon_string source;
  const DescribedArgument* arguments;
  uint64_t argument_count;
};

using DescribeTransforms = void (*)(void* context, void (*add)(void* context, const DescribedTransform* transform));
constexpr const char* kDescribeTransforms = "tenon_describe_transforms";

}  // namespace images

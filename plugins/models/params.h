// Parameters that several models have. If the number of channels or classes is left out, the data determine it.
#pragma once

#include <cstdint>
#include <string>

#include <tenon/error.hpp>
#include <tenon/params.hpp>

namespace tenon::components {

inline Param channels_param(int64_t channels) {
  return param("channels", channels)
      .range("[1, 1e9]")
      .counts_channels()
      .doc("channels of the image; if left out, those of the data");
}

inline Param classes_param(int64_t classes) {
  return param("classes", classes)
      .range("[1, 1e9]")
      .counts_classes()
      .doc("number of classes; if left out, that of the data");
}

inline void check_heads(int64_t width, int64_t heads) {
  if (width % heads == 0) return;
  throw Error(TENON_INVALID_ARGUMENT, "width = " + std::to_string(width) + " with heads = " + std::to_string(heads) +
                                          "; expected a width that is a multiple of heads");
}

}  // namespace tenon::components

// The image library libtenon_images.so, which plugins reach through tenon/draft/images.h.
#pragma once

#include <string>
#include <vector>

#include <tenon/draft/images.h>

namespace tenon::components {

// Opens the library at the first call, of any thread: it links OpenCV, and most runs read no images. `host` receives
// its errors. If it cannot be opened, tenon_images.create of the result fails with the reason.
const tenon_images& open_image_library(const tenon_host& host);

struct BundledTransform {
  struct Argument {
    std::string name;
    std::string values;         // `a number in [0, 1]`
    std::string default_value;  // as written in a list; empty: required
    std::string doc;
  };
  std::string name;
  std::string doc;
  std::string source;  // of its definition
  std::vector<Argument> arguments;
};

// The transforms of the library, in the order of the documentation. Opens it. Throws Error(configuration) with the
// reason if it cannot be opened.
std::vector<BundledTransform> describe_image_transforms();

}  // namespace tenon::components

#include "plugins/images/decode/read_file.h"

#include <climits>

#include "plugins/regular_file.h"

namespace images {

// OpenCV counts the bytes of an encoded image with an int.
void read_file(const std::string& path, std::vector<uint8_t>& bytes) {
  components::read_whole(path, "an image", bytes, INT_MAX);
}

}  // namespace images

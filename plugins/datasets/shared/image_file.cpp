#include "plugins/datasets/shared/image_file.h"

#include <sys/stat.h>

#include <cerrno>
#include <system_error>

#include <tenon/error.hpp>

#include "plugins/images/decode/read_file.h"

namespace datasets {

void LooseImage::read(std::vector<uint8_t>& bytes) const { images::read_file(path_, bytes); }

std::string LooseImage::identity() const { return identify_file(path_); }

std::string identify_file(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    throw tenon::DataError(path + ": cannot be read: " + std::generic_category().message(errno));
  }
  return path + ", " + std::to_string(status.st_size) + " bytes, changed at " + std::to_string(status.st_mtim.tv_sec) +
         '.' + std::to_string(status.st_mtim.tv_nsec);
}

}  // namespace datasets

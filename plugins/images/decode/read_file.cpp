#include "plugins/images/decode/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

#include <tenon/error.hpp>

namespace images {
namespace {

[[noreturn]] void throw_errno(const std::string& path) {
  throw tenon::DataError(path + ": cannot be read: " + std::generic_category().message(errno));
}

class File {
 public:
  explicit File(const std::string& path) : path_(path), descriptor_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (descriptor_ < 0) throw_errno(path_);
  }
  ~File() { close(descriptor_); }
  File(const File&) = delete;
  File& operator=(const File&) = delete;

  void read_all(std::vector<uint8_t>& bytes) {
    struct stat status;
    if (fstat(descriptor_, &status) != 0) throw_errno(path_);
    bytes.resize(static_cast<size_t>(status.st_size));
    size_t have = 0;
    while (have < bytes.size()) {
      const ssize_t got = read(descriptor_, bytes.data() + have, bytes.size() - have);
      if (got < 0 && errno == EINTR) continue;
      if (got < 0) throw_errno(path_);
      if (got == 0) break;
      have += static_cast<size_t>(got);
    }
    bytes.resize(have);
  }

 private:
  const std::string& path_;
  int descriptor_;
};

}  // namespace

void read_file(const std::string& path, std::vector<uint8_t>& bytes) {
  File(path).read_all(bytes);
  if (bytes.empty()) throw tenon::DataError(path + ": is empty; expected an image");
}

}  // namespace images

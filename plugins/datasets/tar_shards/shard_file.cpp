#include "plugins/datasets/tar_shards/shard_file.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <tenon/error.hpp>

namespace tar_shards {
namespace {

std::string describe_errno() { return std::generic_category().message(errno); }

int open_file(const std::string& path) {
  const int descriptor = open(path.c_str(), O_RDONLY | O_CLOEXEC);
  if (descriptor < 0)
    throw tenon::DataError(path + ": cannot be opened: " + describe_errno() + "; expected a tar file");
  return descriptor;
}

// Closes the descriptor in its destructor, unless the descriptor belongs to another object.
struct Borrowed {
  Borrowed(int kept, const std::string& path) : owns(kept < 0), number(owns ? open_file(path) : kept) {}
  ~Borrowed() {
    if (owns) close(number);
  }
  Borrowed(const Borrowed&) = delete;
  Borrowed& operator=(const Borrowed&) = delete;
  bool owns;
  int number;
};

}  // namespace

ShardFile::ShardFile(std::string path, Keep keep) : path_(std::move(path)), descriptor_(open_file(path_)) {
  struct stat status;
  const bool is_known = fstat(descriptor_, &status) == 0;
  const std::string reason = is_known ? "" : describe_errno();
  const bool is_file = is_known && S_ISREG(status.st_mode);
  if (!is_file || keep == Keep::closed) close(std::exchange(descriptor_, -1));
  if (!is_known) throw tenon::DataError(path_ + ": cannot be read: " + reason);
  if (!is_file) throw tenon::DataError(path_ + ": is not a regular file; expected a tar file");
  size_ = static_cast<uint64_t>(status.st_size);
}

ShardFile::~ShardFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

ShardFile::ShardFile(ShardFile&& other) noexcept
    : path_(std::move(other.path_)), descriptor_(std::exchange(other.descriptor_, -1)), size_(other.size_) {}

void ShardFile::read(uint64_t offset, std::span<uint8_t> bytes) const {
  const Borrowed file(descriptor_, path_);
  while (!bytes.empty()) {
    const ssize_t got = pread(file.number, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw tenon::DataError(path_ + ": cannot be read at byte " + std::to_string(offset) + ": " + describe_errno());
    }
    if (got == 0) {
      throw tenon::DataError(path_ + ": ends at byte " + std::to_string(offset) + "; it had " + std::to_string(size_) +
                             " bytes when the dataset was opened; do not modify shards while they are in use");
    }
    offset += static_cast<uint64_t>(got);
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
}

size_t max_open_shards() {
  rlimit limit = {};
  if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return 512;
  return static_cast<size_t>(limit.rlim_cur / 2);
}

}  // namespace tar_shards

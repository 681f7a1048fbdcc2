#include "plugins/datasets/shared/mapped_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>
#include <utility>

#include <tenon/error.hpp>

namespace datasets {
namespace {

[[noreturn]] void throw_errno(const std::string& path) {
  throw tenon::DataError(path + ": cannot be read: " + std::generic_category().message(errno));
}

// Closes the descriptor in its destructor. A mapping outlives the descriptor.
struct Descriptor {
  explicit Descriptor(const std::string& path) : number(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    if (number < 0) throw_errno(path);
  }
  ~Descriptor() { close(number); }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
};

}  // namespace

MappedFile::MappedFile(const std::string& path) {
  const Descriptor file(path);
  struct stat status;
  if (fstat(file.number, &status) != 0) throw_errno(path);
  if (!S_ISREG(status.st_mode)) throw tenon::DataError(path + ": is not a regular file");
  if (status.st_size == 0) throw tenon::DataError(path + ": is empty");
  const auto size = static_cast<size_t>(status.st_size);
  void* start = mmap(nullptr, size, PROT_READ, MAP_SHARED, file.number, 0);
  if (start == MAP_FAILED) throw_errno(path);
  bytes_ = {static_cast<const uint8_t*>(start), size};
}

MappedFile::~MappedFile() {
  if (!bytes_.empty()) munmap(const_cast<uint8_t*>(bytes_.data()), bytes_.size());
}

MappedFile::MappedFile(MappedFile&& other) noexcept : bytes_(std::exchange(other.bytes_, {})) {}

}  // namespace datasets

#include "framework/formats/regular_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <tuple>
#include <utility>

#include <tenon/error.hpp>

namespace formats {
namespace {

std::string describe_errno() { return std::generic_category().message(errno); }

const char* name_type(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

// Closes the descriptor in its destructor, unless the descriptor belongs to another object.
struct Descriptor {
  explicit Descriptor(int number, bool owns = true) : number(number), owns(owns) {}
  ~Descriptor() {
    if (owns && number >= 0) close(number);
  }
  Descriptor(const Descriptor&) = delete;
  Descriptor& operator=(const Descriptor&) = delete;
  int number;
  bool owns;
};

// Returns the descriptor and the size.
std::pair<int, uint64_t> open_regular(const std::string& path, const std::string& expected) {
  if (path.empty()) throw tenon::DataError("the path is empty; expected " + expected);
  int number = -1;
  do number = open(path.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  while (number < 0 && errno == EINTR);
  struct stat status;
  Descriptor file(number);
  // A socket cannot be opened, but its error is "No such device or address".
  const bool is_socket = number < 0 && errno == ENXIO && stat(path.c_str(), &status) == 0;
  if (!is_socket && (number < 0 || fstat(number, &status) != 0)) {
    throw tenon::DataError(path + ": cannot be read: " + describe_errno() + "; expected " + expected);
  }
  if (!S_ISREG(status.st_mode)) {
    throw tenon::DataError(path + ": is " + name_type(status.st_mode) + "; expected a regular file");
  }
  file.owns = false;
  return {number, static_cast<uint64_t>(status.st_size)};
}

}  // namespace

RegularFile::RegularFile(std::string path, std::string_view expected, Keep keep)
    : path_(std::move(path)), expected_(expected) {
  std::tie(descriptor_, size_) = open_regular(path_, expected_);
  if (keep == Keep::closed) close(std::exchange(descriptor_, -1));
}

RegularFile::~RegularFile() {
  if (descriptor_ >= 0) close(descriptor_);
}

RegularFile::RegularFile(RegularFile&& other) noexcept
    : path_(std::move(other.path_)),
      expected_(std::move(other.expected_)),
      descriptor_(std::exchange(other.descriptor_, -1)),
      size_(other.size_) {}

void RegularFile::read(uint64_t offset, std::span<uint8_t> bytes) const {
  const bool is_closed = descriptor_ < 0;
  const Descriptor file(is_closed ? open_regular(path_, expected_).first : descriptor_, is_closed);
  const uint64_t end = offset + bytes.size();
  while (!bytes.empty()) {
    const ssize_t got = pread(file.number, bytes.data(), bytes.size(), static_cast<off_t>(offset));
    if (got < 0 && errno == EINTR) continue;
    if (got < 0) {
      throw tenon::DataError(path_ + ": cannot be read at byte " + std::to_string(offset) + ": " + describe_errno());
    }
    if (got == 0) {
      struct stat status;
      if (fstat(file.number, &status) == 0) offset = static_cast<uint64_t>(status.st_size);
      throw tenon::DataError(path_ + ": ends at byte " + std::to_string(offset) + "; expected " + std::to_string(end) +
                             " bytes or more; it had " + std::to_string(size_) +
                             " bytes when it was opened; do not modify the files of a dataset while it is in use");
    }
    offset += static_cast<uint64_t>(got);
    bytes = bytes.subspan(static_cast<size_t>(got));
  }
}

std::vector<uint8_t> RegularFile::read(uint64_t offset, uint64_t count) const {
  std::vector<uint8_t> bytes(count);
  read(offset, bytes);
  return bytes;
}

void RegularFile::check_size(uint64_t most) const {
  if (size_ == 0) throw tenon::DataError(path_ + ": is empty; expected " + expected_);
  if (size_ <= most) return;
  throw tenon::DataError(path_ + ": has " + std::to_string(size_) + " bytes; expected " + expected_ + " of at most " +
                         std::to_string(most) + " bytes");
}

namespace {

// The memory of this machine in bytes. A larger file cannot be read as a whole.
uint64_t memory_bytes() {
  const long pages = sysconf(_SC_PHYS_PAGES);
  const long page = sysconf(_SC_PAGESIZE);
  return pages < 1 || page < 1 ? UINT64_MAX : static_cast<uint64_t>(pages) * static_cast<uint64_t>(page);
}

template <class Bytes>
void read_into(const std::string& path, std::string_view expected, uint64_t most, Bytes& bytes) {
  const RegularFile file(path, expected);
  static const uint64_t memory = memory_bytes();
  file.check_size(std::min(most, memory));
  bytes.resize(file.size());
  file.read(0, {reinterpret_cast<uint8_t*>(bytes.data()), bytes.size()});
}

}  // namespace

void read_whole(const std::string& path, std::string_view expected, std::vector<uint8_t>& bytes, uint64_t most) {
  read_into(path, expected, most, bytes);
}

std::string read_whole(const std::string& path, std::string_view expected, uint64_t most) {
  std::string text;
  read_into(path, expected, most, text);
  return text;
}

std::string identify_file(const std::string& path) {
  struct stat status;
  if (stat(path.c_str(), &status) != 0) {
    throw tenon::DataError(path + ": cannot be read: " + describe_errno());
  }
  return path + ", " + std::to_string(status.st_size) + " bytes, changed at " + std::to_string(status.st_mtim.tv_sec) +
         '.' + std::to_string(status.st_mtim.tv_nsec);
}

}  // namespace formats

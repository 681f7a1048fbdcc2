// Owns a file descriptor.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

namespace tenon::support {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  // Takes the descriptor over. If its number is 0, 1 or 2, it gets another number: when a plugin has closed a standard
  // stream, the next file has its number, and terminal output would be written into that file. If no number is left,
  // the object is not open, and errno is set.
  explicit FileDescriptor(int number) : number_(move_above_standard_streams(number)) {}
  FileDescriptor(FileDescriptor&& other) noexcept : number_(std::exchange(other.number_, -1)) {}
  FileDescriptor& operator=(FileDescriptor&& other) noexcept {
    std::swap(number_, other.number_);
    return *this;
  }
  ~FileDescriptor() {
    if (number_ >= 0) ::close(number_);
  }

  int number() const { return number_; }
  bool is_open() const { return number_ >= 0; }
  int release() { return std::exchange(number_, -1); }  // the caller closes it

  // Returns the result of close(2). The descriptor is closed in any case: Linux frees the number even on EINTR.
  int close() { return ::close(std::exchange(number_, -1)); }

 private:
  static int move_above_standard_streams(int number) {
    if (number < 0 || number > STDERR_FILENO) return number;
    const int moved = ::fcntl(number, F_DUPFD_CLOEXEC, STDERR_FILENO + 1);
    const int error = errno;
    ::close(number);
    errno = error;
    return moved;
  }

  int number_ = -1;
};

// Returns the result of the last call. Example: `retry_interrupted([&] { return ::rename(from, to); })`.
template <class Call>
auto retry_interrupted(const Call& call) {
  for (;;) {
    const auto result = call();
    if (result != -1 || errno != EINTR) return result;
  }
}

}  // namespace tenon::support

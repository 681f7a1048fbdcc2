// Owns a file descriptor.
#pragma once

#include <unistd.h>

#include <utility>

namespace tenon::support {

class FileDescriptor {
 public:
  FileDescriptor() = default;
  explicit FileDescriptor(int number) : number_(number) {}
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

  // Returns the result of close(2). The descriptor is closed in any case: Linux frees the number even on EINTR.
  int close() { return ::close(std::exchange(number_, -1)); }

 private:
  int number_ = -1;
};

}  // namespace tenon::support

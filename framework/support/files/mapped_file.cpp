#include "framework/support/files/mapped_file.h"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>

#include "framework/support/files/file_descriptor.h"

namespace tenon::support {

namespace {

// Reads /proc/self/maps by the character, with a small buffer: a signal stack has little room.
class MapReader {
 public:
  // Returns the next character, or -1 at the end.
  int next() noexcept {
    if (at_ == size_) {
      const ssize_t count = retry_interrupted([this] { return ::read(descriptor_.number(), buffer_, sizeof buffer_); });
      if (count <= 0) return -1;
      at_ = 0;
      size_ = static_cast<size_t>(count);
    }
    return static_cast<unsigned char>(buffer_[at_++]);
  }

  // Reads a hexadecimal number and the character after it.
  uint64_t next_number() noexcept {
    uint64_t number = 0;
    for (int letter = next();; letter = next()) {
      if (letter >= '0' && letter <= '9')
        number = number * 16 + static_cast<uint64_t>(letter - '0');
      else if (letter >= 'a' && letter <= 'f')
        number = number * 16 + static_cast<uint64_t>(letter - 'a' + 10);
      else
        return number;
    }
  }

  // Skips a word and the space after it.
  void skip_word() noexcept {
    int letter = next();
    while (letter >= 0 && letter != ' ') letter = next();
  }

 private:
  FileDescriptor descriptor_{::open("/proc/self/maps", O_RDONLY | O_CLOEXEC)};
  char buffer_[1024];
  size_t at_ = 0, size_ = 0;
};

}  // namespace

// A line: "7f00c000-7f00d000 r--p 00002000 08:01 1234      /data/x.npy".
bool find_mapped_file(uintptr_t address, MappedFile& file) noexcept {
  MapReader reader;
  for (;;) {
    const uint64_t begin = reader.next_number(), end = reader.next_number();
    if (end == 0) return false;
    reader.skip_word();
    const uint64_t offset = reader.next_number();
    reader.skip_word();
    int letter = reader.next();  // the inode and spaces
    while (letter >= 0 && letter != '\n' && letter != '/' && letter != '[') letter = reader.next();
    size_t length = 0;
    for (; letter >= 0 && letter != '\n'; letter = reader.next())
      if (length + 1 < sizeof file.path) file.path[length++] = static_cast<char>(letter);
    file.path[length] = '\0';
    if (address < begin || address >= end) continue;
    file.offset = offset + (address - begin);
    return file.path[0] == '/';
  }
}

}  // namespace tenon::support

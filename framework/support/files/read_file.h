// Opens and reads regular files. A FIFO would block its reader, and a device may have no end.
#pragma once

#include <ext/stdio_filebuf.h>

#include <cstdint>
#include <filesystem>
#include <functional>
#include <istream>
#include <span>
#include <string>
#include <string_view>

#include "framework/support/diagnostics/error.h"
#include "framework/support/files/file_descriptor.h"

namespace tenon::support {

// A file to read, for error messages.
struct ExpectedFile {
  ErrorKind kind;
  std::string_view what = {};  // "a run file (TOML)"; empty: the message does not say it
  uint64_t most_bytes = uint64_t{256} << 20;
};

// Opens a regular file to read it. Throws Error(expected.kind) with the path if it cannot be opened or is not a regular
// file, and Error(system) if the machine failed. Never waits for the other end of a FIFO.
FileDescriptor open_file(const std::filesystem::path& file, const ExpectedFile& expected);

// Returns the bytes of a file. Throws like open_file(), and if there are more than expected.most_bytes.
std::string read_file(const std::filesystem::path& file, const ExpectedFile& expected);

// Calls `use` for the bytes of a file of any size, in pieces that fit into the cache of a CPU. Throws like open_file().
void read_pieces(const std::filesystem::path& file, const ExpectedFile& expected,
                 const std::function<void(std::span<const std::byte>)>& use);

// Returns the bytes of a file. None if it cannot be read, is not a regular file or has more than 256 MiB.
std::string read_text(const std::filesystem::path& file);

// A regular file as a stream.
class FileStream final : public std::istream {
 public:
  // Throws like open_file().
  FileStream(const std::filesystem::path& file, const ExpectedFile& expected)
      : std::istream(nullptr), buffer_(open_file(file, expected).release(), std::ios::in | std::ios::binary) {
    rdbuf(&buffer_);
  }

 private:
  __gnu_cxx::stdio_filebuf<char> buffer_;
};

}  // namespace tenon::support

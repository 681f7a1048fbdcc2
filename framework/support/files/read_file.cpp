#include "framework/support/files/read_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <system_error>
#include <vector>

#include "framework/support/files/file_descriptor.h"
#include "framework/support/files/files.h"

namespace tenon::support {

namespace {

const char* name_type(mode_t mode) {
  if (S_ISDIR(mode)) return "a folder";
  if (S_ISFIFO(mode)) return "a FIFO";
  return S_ISSOCK(mode) ? "a socket" : "a device";
}

[[noreturn]] void refuse_unreadable(const std::filesystem::path& file, const ExpectedFile& expected, int error) {
  throw Error(kind_of_errno(expected.kind, error), "{}: cannot be read: {}{}{}", format_path(file),
              std::generic_category().message(error), expected.what.empty() ? "" : "; expected ", expected.what);
}

[[noreturn]] void refuse_size(const std::filesystem::path& file, const ExpectedFile& expected,
                              const std::string& size) {
  throw Error(expected.kind, "{}: has {} bytes; expected {} of at most {} bytes; check the path", format_path(file),
              size, expected.what.empty() ? "a file" : expected.what, expected.most_bytes);
}

}  // namespace

FileDescriptor open_file(const std::filesystem::path& file, const ExpectedFile& expected) {
  FileDescriptor descriptor(retry_interrupted([&] { return ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK); }));
  const int error = errno;
  struct stat status;
  // A socket cannot be opened, but its error is "No such device or address".
  const bool is_socket = !descriptor.is_open() && error == ENXIO && ::stat(file.c_str(), &status) == 0;
  if (!is_socket && !descriptor.is_open()) refuse_unreadable(file, expected, error);
  if (!is_socket && ::fstat(descriptor.number(), &status) != 0) refuse_unreadable(file, expected, errno);
  if (!S_ISREG(status.st_mode))
    throw Error(expected.kind, "{}: is {}; expected a regular file", format_path(file), name_type(status.st_mode));
  return descriptor;
}

// The size may be wrong: the files of /proc have none, and a file may grow.
std::string read_file(const std::filesystem::path& file, const ExpectedFile& expected) {
  const FileDescriptor descriptor = open_file(file, expected);
  struct stat status;
  if (::fstat(descriptor.number(), &status) != 0) refuse_unreadable(file, expected, errno);
  const auto size = static_cast<uint64_t>(status.st_size);
  if (size > expected.most_bytes) refuse_size(file, expected, std::to_string(size));
  std::string text;
  for (size_t have = 0;;) {
    text.resize(std::max<size_t>(size, have) + 4096);
    const ssize_t got =
        retry_interrupted([&] { return ::read(descriptor.number(), text.data() + have, text.size() - have); });
    if (got < 0) refuse_unreadable(file, expected, errno);
    have += static_cast<size_t>(got);
    if (have > expected.most_bytes) refuse_size(file, expected, "more than " + std::to_string(expected.most_bytes));
    if (got > 0) continue;
    text.resize(have);
    return text;
  }
}

void read_pieces(const std::filesystem::path& file, const ExpectedFile& expected,
                 const std::function<void(std::span<const std::byte>)>& use) {
  const FileDescriptor descriptor = open_file(file, expected);
  std::vector<std::byte> piece(256 << 10);
  for (;;) {
    const ssize_t got = retry_interrupted([&] { return ::read(descriptor.number(), piece.data(), piece.size()); });
    if (got < 0) refuse_unreadable(file, expected, errno);
    if (got == 0) return;
    use(std::span(piece).first(static_cast<size_t>(got)));
  }
}

std::string read_text(const std::filesystem::path& file) {
  try {
    return read_file(file, {ErrorKind::system});
  } catch (const Error&) {
    return {};
  }
}

}  // namespace tenon::support

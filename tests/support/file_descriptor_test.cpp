#include "framework/support/files/file_descriptor.h"

#include <doctest/doctest.h>
#include <fcntl.h>

using tenon::support::FileDescriptor;

namespace {

// Closes standard input during its lifetime.
class ClosedInput {
 public:
  ClosedInput() : copy_(dup(STDIN_FILENO)) { close(STDIN_FILENO); }
  ~ClosedInput() {
    dup2(copy_, STDIN_FILENO);
    close(copy_);
  }
  ClosedInput(const ClosedInput&) = delete;
  ClosedInput& operator=(const ClosedInput&) = delete;

 private:
  int copy_;
};

}  // namespace

TEST_CASE("a file never has the number of a standard stream") {
  const ClosedInput closed;
  const int number = open("/dev/null", O_RDONLY | O_CLOEXEC);
  REQUIRE(number == STDIN_FILENO);
  const FileDescriptor file(number);
  CHECK(file.number() > STDERR_FILENO);
  CHECK(fcntl(file.number(), F_GETFD) == FD_CLOEXEC);
  CHECK(fcntl(STDIN_FILENO, F_GETFD) == -1);
}

TEST_CASE("a file that could not be opened keeps the reason") {
  const FileDescriptor file(open("/nowhere", O_RDONLY | O_CLOEXEC));
  CHECK(errno == ENOENT);
  CHECK_FALSE(file.is_open());
}

#include "framework/support/files/read_file.h"

#include <doctest/doctest.h>
#include <sys/stat.h>

#include "tests/support/write_file.h"
#include "tests/test_folder.h"

namespace fs = std::filesystem;
using namespace tenon;
using support::ErrorKind;

namespace {

// Returns the message, and checks that the functions agree.
std::string error_of(const fs::path& file, const support::ExpectedFile& expected = {ErrorKind::checkpoint, "a text"}) {
  CHECK(support::read_text(file).empty());
  std::string message;
  try {
    support::read_file(file, expected);
    FAIL("no error");
  } catch (const support::Error& error) {
    CHECK(error.kind() == expected.kind);
    message = error.what();
  }
  return message;
}

}  // namespace

TEST_CASE("a file is read to its end, also if the system does not know its size") {
  const std::string text(10'000, 'x');
  const fs::path file = support::write_file("file", text);
  CHECK(support::read_file(file, {ErrorKind::data}) == text);
  CHECK(support::read_text(file) == text);
  support::write_file("file", "");
  CHECK(support::read_file(file, {ErrorKind::data}).empty());
  CHECK(support::read_file("/proc/self/status", {ErrorKind::data}).starts_with("Name:"));  // st_size is 0
}

TEST_CASE("anything but a regular file is refused as what it is, without waiting for a writer") {
  REQUIRE(mkfifo("fifo", 0600) == 0);
  CHECK(error_of("fifo") == "fifo: is a FIFO; expected a regular file");
  CHECK(error_of(".") == ".: is a folder; expected a regular file");
  for (const char* device : {"/dev/zero", "/dev/full", "/dev/urandom", "/dev/null"})
    CHECK(error_of(device) == std::string(device) + ": is a device; expected a regular file");
  CHECK(error_of("none") == "none: cannot be read: No such file or directory; expected a text");
  CHECK(error_of("") == "\"\": cannot be read: No such file or directory; expected a text");
  CHECK_THROWS_AS(support::FileStream("fifo", {ErrorKind::data}), support::Error);
}

TEST_CASE("a file that is too large is refused, also if the system does not know its size") {
  support::write_file("large", "abcd");
  CHECK(support::read_file("large", {ErrorKind::data, "", 4}) == "abcd");
  CHECK(support::read_text("large") == "abcd");
  fs::resize_file("large", uintmax_t{1} << 40);  // sparse
  CHECK(error_of("large", {ErrorKind::data, "a text", 3}) ==
        "large: has 1099511627776 bytes; expected a text of at most 3 bytes; check the path");
  try {
    support::read_file("/proc/self/status", {ErrorKind::data, {}, 3});
    FAIL("no error");
  } catch (const support::Error& error) {
    CHECK(std::string(error.what()) ==
          "/proc/self/status: has more than 3 bytes; expected a file of at most 3 bytes; check the path");
  }
}

TEST_CASE("a stream has the lines of a file") {
  support::write_file("lines", "a\nb");
  support::FileStream stream("lines", {ErrorKind::data});
  std::string line;
  CHECK(std::getline(stream, line));
  CHECK(line == "a");
  CHECK(std::getline(stream, line));
  CHECK(line == "b");
  CHECK(!std::getline(stream, line));
  CHECK(stream.eof());
}

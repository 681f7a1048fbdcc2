#include "framework/support/digests/sha256.h"

#include <doctest/doctest.h>

#include "framework/support/diagnostics/error.h"
#include "tests/support/write_file.h"
#include "tests/test_folder.h"

namespace tenon::support {
namespace {

// The examples of FIPS 180-4.
constexpr const char* kOfEmpty = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
constexpr const char* kOfAbc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
constexpr const char* kOfMillionAs = "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0";

}  // namespace

TEST_CASE("bytes have the published hashes") {
  CHECK(sha256("") == kOfEmpty);
  CHECK(sha256("abc") == kOfAbc);
  CHECK(sha256(std::string(1'000'000, 'a')) == kOfMillionAs);
}

TEST_CASE("a file has the hash of its bytes, also when it is longer than one read") {
  CHECK(read_sha256(write_file("empty", "")) == kOfEmpty);
  CHECK(read_sha256(write_file("abc", "abc")) == kOfAbc);
  const std::string long_text((3 << 20) + 7, '\0');
  CHECK(read_sha256(write_file("long", long_text)) == sha256(long_text));
}

TEST_CASE("a file that cannot be read is reported by name") {
  try {
    read_sha256("no/such/file");
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(std::string(error.what()) == "no/such/file: cannot be read: No such file or directory");
  }
  CHECK_THROWS_AS(read_sha256(tenon::test_folder()), Error);
}

}  // namespace tenon::support

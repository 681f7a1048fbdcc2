#include "framework/support/digests/xxh128.h"

#include <doctest/doctest.h>

#include "framework/support/diagnostics/error.h"
#include "tests/support/write_file.h"
#include "tests/test_folder.h"

namespace tenon::support {
namespace {

// Outputs of `xxhsum -H128`.
constexpr const char* kXxhOfEmpty = "99aa06d3014798d86001c324468d497f";
constexpr const char* kXxhOfAbc = "06b05ab6733a618578af5f94892f3950";

}  // namespace

TEST_CASE("bytes have the hashes of xxhsum, in one piece or in several") {
  CHECK(xxh128("") == kXxhOfEmpty);
  CHECK(xxh128("abc") == kXxhOfAbc);
  Xxh128 in_pieces;
  for (const std::string_view piece : {"a", "", "bc"}) in_pieces.add(std::as_bytes(std::span(piece)));
  CHECK(in_pieces.hexadecimal() == kXxhOfAbc);
}

TEST_CASE("a file has the XXH128 of its bytes, also when it is longer than one read") {
  CHECK(read_xxh128(write_file("xxh_empty", "")) == kXxhOfEmpty);
  std::string long_text((3 << 20) + 7, '\0');
  const std::string of_zeros = read_xxh128(write_file("xxh_long", long_text));
  CHECK(of_zeros == xxh128(long_text));
  long_text[1 << 20] = 1;
  CHECK(read_xxh128(write_file("xxh_long", long_text)) != of_zeros);
}

TEST_CASE("a file that cannot be read is reported with its name and the reason") {
  CHECK_THROWS_WITH_AS(read_xxh128("no/such/file"), "no/such/file: cannot be read: No such file or directory", Error);
  CHECK_THROWS_AS(read_xxh128(tenon::test_folder()), Error);
}

}  // namespace tenon::support

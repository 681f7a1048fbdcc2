#include "framework/formats/unicode.h"

#include <doctest/doctest.h>

namespace encoding_test {

using namespace std::string_view_literals;
using formats::find_wide_encoding;

TEST_CASE("UTF-16 and UTF-32 are found by their byte order mark, or by their zero bytes") {
  CHECK(find_wide_encoding("\xFF\xFE"
                           "a\0,\0"sv) ==
        "is UTF-16; expected UTF-8; convert it with iconv -f UTF-16 -t UTF-8, or save it in Excel as \"CSV UTF-8\"");
  CHECK(find_wide_encoding("\xFE\xFF\0a"sv).find("is UTF-16;") == 0);
  CHECK(find_wide_encoding("\xFF\xFE\0\0a\0\0\0"sv).find("is UTF-32;") == 0);
  CHECK(find_wide_encoding("a\0,\0b\0\n\0"sv).find("is UTF-16LE;") == 0);
  CHECK(find_wide_encoding("\0a\0,\0b\0\n"sv).find("is UTF-16BE;") == 0);
  CHECK(find_wide_encoding("\0\0\0a\0\0\0b"sv).find("is UTF-32BE;") == 0);
}

TEST_CASE("other texts are left to their readers") {
  for (const std::string_view text : {"a,b\n1,2\n"sv,
                                      "\xEF\xBB\xBF"
                                      "a"sv,
                                      ""sv, "\xE9t\xE9"sv, "a,\0,b\n"sv, "abc"sv})
    CHECK(find_wide_encoding(text).empty());
}

}  // namespace encoding_test

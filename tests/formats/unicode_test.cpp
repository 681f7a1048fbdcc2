#include "framework/formats/unicode.h"

#include <doctest/doctest.h>

namespace unicode_test {

using namespace formats;

TEST_CASE("blanks of every kind are removed at both ends, and only there") {
  CHECK(trim(" \t a b\r\n") == "a b");
  CHECK(trim("\xC2\xA0"
             "a\xE3\x80\x80\xEF\xBB\xBF") == "a");
  CHECK(trim(" \xC2\xA0 ").empty());
  CHECK(trim("a") == "a");
}

TEST_CASE("decomposed names are composed as NFC") {
  CHECK(compose("cafe\xCC\x81") == "caf\xC3\xA9");
  CHECK(compose("e\xCC\xA3\xCC\x82") == "\xE1\xBB\x87");                     // e, dot below, circumflex
  CHECK(compose("\xE1\x84\x92\xE1\x85\xA1\xE1\x86\xAB") == "\xED\x95\x9C");  // three letters of Hangul
  CHECK(compose("\xE1\x84\x92\xE1\x85\xA1") == "\xED\x95\x98");              // two
  CHECK(compose("\xE3\x81\x8B\xE3\x82\x99") == "\xE3\x81\x8C");              // ka and its mark: ga
  CHECK(compose("\xD0\xB8\xCC\x86") == "\xD0\xB9");                          // Cyrillic i and breve
  CHECK(compose("a\xF0\x9F\x90\xB1") == "a\xF0\x9F\x90\xB1");
  CHECK(compose("caf\xC3\xA9") == "caf\xC3\xA9");
  CHECK(compose("\xCC\x81") == "\xCC\x81");
  CHECK(compose("e\xFF\xCC\x81") == "e\xFF\xCC\x81");  // no UTF-8
  CHECK(compose("").empty());
}

TEST_CASE("the first byte that is not UTF-8 is found") {
  CHECK(find_invalid_utf8("a\xC3\xA9") == 3);
  CHECK(find_invalid_utf8("a\xE9") == 1);
  CHECK(find_invalid_utf8("\xED\xA0\x80") == 0);      // a surrogate
  CHECK(find_invalid_utf8("a\xE0\x9F\xBF") == 1);     // overlong
  CHECK(find_invalid_utf8("\xF4\x90\x80\x80") == 0);  // above U+10FFFF
  CHECK(find_invalid_utf8("\xF4\x8F\xBF\xBF\xE2\x82") == 4);
}

}  // namespace unicode_test

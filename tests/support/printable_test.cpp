#include "framework/support/printable.h"

#include <doctest/doctest.h>

#include <random>

namespace tenon::support {

TEST_CASE("text of any language is unchanged") {
  for (const std::string text :
       {"", "a plain message, with \"quotes\"\tand a tab", "größer als 5 µs", "画像 \xF0\x9F\x8C\xB3"})
    CHECK(printable(text) == text);
}

TEST_CASE("a terminal obeys no character of a message") {
  CHECK(printable("\x1b[2Jgone") == "\\u001b[2Jgone");
  CHECK(printable("a\rb\bc\x7f") == "a\\u000db\\u0008c\\u007f");
  CHECK(printable("\xC2\x9B"
                  "2J") == "\\u009b2J");
  CHECK(printable("abc\xE2\x80\xAE"
                  "fdp.so") == "abc\\u202efdp.so");
  CHECK(printable(std::string_view("a\0b", 3)) == "a\\u0000b");
}

TEST_CASE("bytes that are not UTF-8 are escaped") {
  CHECK(printable("caf\xE9!") == "caf\\xe9!");
  CHECK(printable("\xC0\xAF") == "\\xc0\\xaf");                    // overlong
  CHECK(printable("\xED\xA0\x80") == "\\xed\\xa0\\x80");           // a surrogate
  CHECK(printable("\xF4\x90\x80\x80") == "\\xf4\\x90\\x80\\x80");  // above U+10FFFF
  CHECK(printable("\xE2\x82") == "\\xe2\\x82");                    // cut
}

TEST_CASE("no line of a message looks like another message") {
  CHECK(printable("bad sample\nerror: the disk is broken") == "bad sample\n  error: the disk is broken");
  CHECK(printable("differences:\n  lr: 1, now 2\n") == "differences:\n  lr: 1, now 2\n");
}

TEST_CASE("long values keep their beginning and their end") {
  const std::string longest(200, 'x');
  CHECK(printable("found \"" + longest + "\"") == "found \"" + longest + "\"");
  CHECK(printable("found \"" + std::string(10'000'000, 'x') + "\"; expected a number") ==
        "found \"" + std::string(100, 'x') + "[...9999800 bytes...]" + std::string(100, 'x') + "\"; expected a number");
  std::string text;
  for (int i = 0; i < 100; ++i) text += "\xC3\xA4\xC3\xA4\xC3\xA4";
  CHECK(printable("\"a" + text + "\"") == "\"a" + text.substr(0, 98) + "[...402 bytes...]" + text.substr(500) + "\"");
  CHECK(printable(std::string(1'000'000, 'y')).size() < 17'000);
  CHECK(printable("one \" and " + longest + longest) == "one \" and " + longest + longest);
}

TEST_CASE("random bytes become printable text") {
  std::mt19937 random(5);
  for (int round = 0; round < 5000; ++round) {
    std::string text(random() % 40, ' ');
    for (char& byte : text) byte = static_cast<char>(random());
    const std::string shown = printable(text);
    for (const char byte : shown) REQUIRE((static_cast<uint8_t>(byte) >= 0x20 || byte == '\n' || byte == '\t'));
    CHECK(shown.find('\x7f') == shown.npos);
    CHECK(printable(shown) == shown);
  }
}

}  // namespace tenon::support

#include "framework/support/text/printable.h"

#include <doctest/doctest.h>

#include <algorithm>
#include <random>

#include "tests/support/hostile_text.h"

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
  CHECK(printable("one \" and " + longest + "/" + longest) == "one \" and " + longest + "/" + longest);
}

TEST_CASE("long words without quotes keep their beginning and their end, but the name of a file is whole") {
  const std::string longest(255, 'n');
  CHECK(printable("/" + longest + "/" + longest + ": cannot be read") ==
        "/" + longest + "/" + longest + ": cannot be read");
  CHECK(printable("unknown option --" + std::string(100'000, 'x') + "; known: --set") ==
        "unknown option --" + std::string(98, 'x') + "[...99802 bytes...]" + std::string(100, 'x') + "; known: --set");
  std::string sentence;
  for (int i = 0; i < 200; ++i) sentence += "\xE7\x94\xBB";
  CHECK(printable(sentence) == sentence);
}

TEST_CASE("a text without any structure is bounded") {
  std::string words, characters;
  for (int i = 0; i < 200'000; ++i) words += "word ";
  for (int i = 0; i < 200'000; ++i) characters += "\xC3\xA4";
  for (const std::string& text : {words, characters, std::string(1'000'000, '\n'), std::string(1'000'000, '"'),
                                  std::string(1'000'000, '\x1b'), std::string(1'000'000, '/')})
    CHECK(printable(text).size() < 3 * 16384 + 100);
  CHECK(printable(words).size() < 16384 + 100);
}

TEST_CASE("no hostile text is obeyed by a terminal or forges a line, and plain text is unchanged") {
  std::mt19937 random(5);
  for (int round = 0; round < 20'000; ++round) {
    const std::string text = make_hostile_text(random), plain = make_plain_text(random, 60);
    CAPTURE(text);
    const std::string escaped = escape_control_characters(text), shown = printable(text);
    REQUIRE(find_unsafe(escaped) == "");
    REQUIRE(std::ranges::count(escaped, '\n') == std::ranges::count(text, '\n'));
    REQUIRE(escape_control_characters(escaped) == escaped);
    REQUIRE(find_unsafe(shown) == "");
    REQUIRE(printable(shown) == shown);
    for (size_t at = shown.find('\n'); at != shown.npos && at + 1 < shown.size(); at = shown.find('\n', at + 1))
      REQUIRE((shown[at + 1] == ' ' || shown[at + 1] == '\t' || shown[at + 1] == '\n'));
    REQUIRE(escape_control_characters(plain) == plain);
    REQUIRE(printable(plain) == plain);
  }
}

}  // namespace tenon::support

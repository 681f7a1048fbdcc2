#include "framework/support/text/terminal.h"

#include <doctest/doctest.h>

namespace tenon::support {

TEST_CASE("parts that do not fit begin the next line") {
  const std::vector<std::string> parts{"time: backward 72 %", "forward 19 %", "validation 4 %"};
  CHECK(wrap_parts(parts, ", ", 0) == "time: backward 72 %, forward 19 %, validation 4 %");
  CHECK(wrap_parts(parts, ", ", 49) == "time: backward 72 %, forward 19 %, validation 4 %");
  CHECK(wrap_parts(parts, ", ", 48) == "time: backward 72 %, forward 19 %,\n  validation 4 %");
  CHECK(wrap_parts(parts, ", ", 30) == "time: backward 72 %,\n  forward 19 %, validation 4 %");
  CHECK(wrap_parts(parts, ", ", 29) == "time: backward 72 %,\n  forward 19 %,\n  validation 4 %");
}

TEST_CASE("a part that is wider than a line stays whole") {
  CHECK(wrap_parts({"a", "a long path", "b"}, "  ", 5) == "a\n  a long path\n  b");
}

TEST_CASE("a sentence is wrapped at its blanks") {
  CHECK(wrap_words("one two three", 8) == "one two\n  three");
  CHECK(wrap_words("one two three", 0) == "one two three");
  CHECK(wrap_words("", 8).empty());
}

TEST_CASE("each line is wrapped by itself") {
  CHECK(wrap_lines("one two three\n  four five\n", 8) == "one two\n  three\n  four\n    five\n");
  CHECK(wrap_lines("one\n\ntwo", 8) == "one\n\ntwo");
  CHECK(wrap_lines("one two three\n", 0) == "one two three\n");
}

}  // namespace tenon::support

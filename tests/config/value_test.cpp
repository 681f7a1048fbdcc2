#include "framework/config/toml/value.h"

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <random>

#include "framework/config/toml/toml_tree.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::config {
namespace {

double read_back(double number) {
  const auto node = parse_toml_value(to_toml(number), {"test"});
  REQUIRE(node);
  REQUIRE(std::holds_alternative<double>(node->value));  // not an integer
  return std::get<double>(node->value);
}

}  // namespace

TEST_CASE("floats are printed with the fewest digits and remain TOML floats") {
  CHECK(to_toml(0.1) == "0.1");
  CHECK(to_toml(1.0) == "1.0");
  CHECK(to_toml(-0.0) == "-0.0");
  CHECK(to_toml(1e-8) == "1e-08");
  CHECK(to_toml(1e22) == "1e+22");
  CHECK(to_toml(std::numeric_limits<double>::infinity()) == "inf");
  CHECK(to_toml(-std::numeric_limits<double>::infinity()) == "-inf");
  CHECK(to_toml(std::nan("")) == "nan");
}

TEST_CASE("every float is parsed to the same bits") {
  std::mt19937_64 random(1);
  int finite = 0;
  for (int i = 0; i < 20'000; ++i) {
    const double number = std::bit_cast<double>(random());
    if (!std::isfinite(number)) continue;
    ++finite;
    REQUIRE(std::bit_cast<uint64_t>(read_back(number)) == std::bit_cast<uint64_t>(number));
  }
  CHECK(finite > 19'000);
  for (const double number : {0.0, -0.0, 1e16, 1e-300, 5e-324, 123456789.0, 1e15}) {
    CHECK(std::bit_cast<uint64_t>(read_back(number)) == std::bit_cast<uint64_t>(number));
  }
}

TEST_CASE("integers, booleans and lists are printed as TOML") {
  CHECK(to_toml(int64_t{-3}) == "-3");
  CHECK(to_toml(std::numeric_limits<int64_t>::min()) == "-9223372036854775808");
  CHECK(to_toml(true) == "true");
  CHECK(to_toml(std::vector<int64_t>{1, 2}) == "[1, 2]");
  CHECK(to_toml(std::vector<double>{0.5, 1}) == "[0.5, 1.0]");
  CHECK(to_toml(std::vector<std::string>{"a", "b\""}) == R"(["a", "b\""])");
  CHECK(to_toml(std::vector<int64_t>{}) == "[]");
}

TEST_CASE("strings are escaped") {
  CHECK(to_toml(std::string("train")) == "\"train\"");
  CHECK(to_toml(std::string("a\"b\\c\n\t\r\b\f")) == R"("a\"b\\c\n\t\r\b\f")");
  CHECK(to_toml(std::string("\x01\x7f")) == R"("\u0001\u007F")");
  CHECK(to_toml(std::string("ü")) == "\"ü\"");
}

TEST_CASE("every string without a NUL character reads back") {
  std::string text = "ü€𝄞";
  for (int code = 1; code < 128; ++code) text += static_cast<char>(code);
  const auto node = parse_toml_value(to_toml(text), {"test"});
  REQUIRE(node);
  CHECK(*node->as_string() == text);
}

TEST_CASE("a NUL character in a string or a key is refused with its location") {
  for (const char* const value :
       {R"("a\u0000b")", R"([1, ["a\u0000b"]])", R"({ a = "a\u0000b" })", R"({ "\u0000" = 1 })"}) {
    CAPTURE(value);
    std::string message;
    try {
      parse_toml_value(value, {"--set run.name"});
    } catch (const support::Error& error) {
      message = error.what();
    }
    CHECK(message.starts_with("--set run.name: "));
    CHECK(message.ends_with(" contains a NUL character; remove it"));
  }
}

TEST_CASE("keys are quoted if necessary") {
  CHECK(to_toml_key("label_smoothing") == "label_smoothing");
  CHECK(to_toml_key("a-1") == "a-1");
  CHECK(to_toml_key("a.b") == "\"a.b\"");
  CHECK(to_toml_key("") == "\"\"");
}

}  // namespace tenon::config

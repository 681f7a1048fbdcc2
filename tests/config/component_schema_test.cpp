#include "framework/config/values/component_schema.h"

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <stdexcept>

namespace tenon::config {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

// Returns the error of a parameter, or "".
std::string refusal(ParamType type, const std::string& default_toml, const std::string& range = "",
                    const std::vector<std::string>& choices = {}, const std::string& name = "width") {
  try {
    parse_param_schema(name, type, default_toml, range, choices, "");
  } catch (const std::invalid_argument& error) {
    return error.what();
  }
  return "";
}

template <class T>
T default_of(ParamType type, const std::string& default_toml) {
  return std::get<T>(*parse_param_schema("width", type, default_toml, "", {}, "").default_value);
}

}  // namespace

TEST_CASE("a closed bound is part of an interval and an open one is not") {
  const Interval interval = parse_interval("[0, 1)");
  CHECK(interval.contains(0));
  CHECK(interval.contains(0.999));
  CHECK_FALSE(interval.contains(1));
  CHECK_FALSE(interval.contains(-1e-300));
}

TEST_CASE("no interval contains NaN, and an open bound at infinity excludes infinity") {
  CHECK_FALSE(parse_interval("(-inf, inf)").contains(std::nan("")));
  CHECK_FALSE(parse_interval("[1, inf)").contains(kInfinity));
  CHECK(parse_interval("[1, inf]").contains(kInfinity));
  CHECK(parse_interval("[1, inf)").contains(1e300));
}

TEST_CASE("intervals may have spaces, fractions and a single point") {
  CHECK(parse_interval(" ( -0.5 ,1e3 ] ").contains(1000));
  CHECK(parse_interval("[2, 2]").contains(2));
}

TEST_CASE("text that is not an interval is refused") {
  for (const char* text :
       {"", "1, 2", "[1, 2", "[1 2]", "[a, 2]", "[1, 2, 3]", "[2, 1]", "(1, 1]", "[nan, 1]", "[, 1]", "[]"}) {
    CAPTURE(text);
    CHECK_THROWS_AS(parse_interval(text), std::invalid_argument);
  }
}

TEST_CASE("defaults are read in the type of the parameter") {
  CHECK(default_of<bool>(ParamType::boolean, "true"));
  CHECK(default_of<int64_t>(ParamType::integer, "10") == 10);
  CHECK(default_of<double>(ParamType::floating, "1") == 1.0);
  CHECK(default_of<std::string>(ParamType::string, "\"train\"") == "train");
  CHECK(default_of<std::string>(ParamType::path, "\"\"").empty());
  CHECK(default_of<std::vector<int64_t>>(ParamType::integers, "[1, 2]") == std::vector<int64_t>{1, 2});
  CHECK(default_of<std::vector<double>>(ParamType::floats, "[1, 0.5]") == std::vector<double>{1, 0.5});
  CHECK(default_of<std::vector<std::string>>(ParamType::strings, "[]").empty());
}

TEST_CASE("a parameter without a default is required") {
  CHECK_FALSE(parse_param_schema("path", ParamType::path, "", "", {}, "").default_value);
}

TEST_CASE("a default that does not satisfy its schema is refused") {
  CHECK(refusal(ParamType::integer, "0", "[1, inf)") ==
        "parameter width: the default is 0; expected an integer of at least 1");
  CHECK(refusal(ParamType::integer, "1.5") == "parameter width: the default is 1.5; expected an integer");
  CHECK(refusal(ParamType::string, "\"tets\"", "", {"train", "test"}) ==
        "parameter width: the default is \"tets\"; expected \"train\" or \"test\"; did you mean \"test\"?");
  CHECK(refusal(ParamType::floats, "[0.5, 2]", "(0, 1]") ==
        "parameter width: the default is [0.5, 2]; expected a list of numbers, each in (0, 1]");
  CHECK(refusal(ParamType::strings, "[\"c\"]", "", {"a", "b"}) ==
        "parameter width: the default is [\"c\"]; expected a list of strings, each \"a\" or \"b\"");
}

TEST_CASE("a default that is not a TOML value is refused") {
  CHECK(refusal(ParamType::string, "train") == "parameter width: the default `train` is not a TOML value");
  CHECK(refusal(ParamType::integer, "1\nother = 2") ==
        "parameter width: the default `1\nother = 2` is not a TOML value");
}

TEST_CASE("ranges are for numbers and choices are for strings") {
  CHECK(refusal(ParamType::string, "", "[0, 1]") == "parameter width: it has a range, but its type is a string");
  CHECK(refusal(ParamType::integer, "", "", {"a"}) == "parameter width: it has choices, but its type is an integer");
  CHECK(refusal(ParamType::integer, "", "[1") ==
        "parameter width: the range `[1` is not an interval; expected an interval such as `[1, inf)` or `(0, 1]`");
}

TEST_CASE("parameters have lower_snake_case names") {
  for (const char* name : {"", "Width", "2d", "a-b", "a.b"}) {
    CAPTURE(std::string(name));
    CHECK(refusal(ParamType::integer, "", "", {}, name).find("lower_snake_case") != std::string::npos);
  }
}

}  // namespace tenon::config

#include "framework/config/values/text_values.h"

#include <doctest/doctest.h>

namespace tenon::config {
namespace {

std::string reprint(const std::string& text) {
  const auto period = parse_period(text);
  return period ? to_string(*period) : "no period";
}

}  // namespace

TEST_CASE("periods are parsed in epochs, steps and seconds") {
  CHECK(parse_period("1 epoch")->unit == Period::Unit::epochs);
  CHECK(parse_period("2 epochs")->count == 2);
  CHECK(parse_period("500 steps")->unit == Period::Unit::steps);
  CHECK(parse_period("500 steps")->count == 500);
  CHECK(parse_period("30 seconds")->unit == Period::Unit::seconds);
  CHECK(parse_period("10 minutes")->count == 600);
  CHECK(parse_period("1 hour")->count == 3600);
  CHECK(parse_period("0.5 hours")->count == 1800);
  CHECK(parse_period("never")->unit == Period::Unit::never);
}

TEST_CASE("text that is not a period is refused") {
  for (const char* text :
       {"", "1", "epoch", "1epoch", "1  epoch", " 1 epoch", "1 epoch ", "1 week", "0 steps", "-1 steps", "1.5 epochs",
        "nan seconds", "inf hours", "1e300 hours", "Never", "1 epochss", "every epoch"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_period(text));
  }
}

TEST_CASE("a part of an epoch is a period where it is allowed") {
  const auto part = parse_period("0.25 epochs", Fractions::yes);
  REQUIRE(part);
  CHECK(part->unit == Period::Unit::epochs);
  CHECK(part->count == 0.25);
  CHECK(part->is_fraction());
  CHECK(to_string(*part) == "0.25 epochs");
  CHECK_FALSE(parse_period("1 epoch", Fractions::yes)->is_fraction());
  CHECK_FALSE(parse_period("0.5 seconds", Fractions::yes)->is_fraction());
  CHECK_FALSE(parse_period("0.25 epochs"));
  for (const char* text : {"1.5 epochs", "0 epochs", "-0.5 epochs", "0.5 steps", "nan epochs"}) {
    CAPTURE(text);
    CHECK_FALSE(parse_period(text, Fractions::yes));
  }
}

TEST_CASE("periods are printed in the largest unit of time with a whole count") {
  CHECK(reprint("1 epochs") == "1 epoch");
  CHECK(reprint("2 epoch") == "2 epochs");
  CHECK(reprint("1000000 steps") == "1000000 steps");
  CHECK(reprint("3600 seconds") == "1 hour");
  CHECK(reprint("90 minutes") == "90 minutes");
  CHECK(reprint("61 seconds") == "61 seconds");
  CHECK(reprint("0.25 seconds") == "0.25 seconds");
  CHECK(reprint("never") == "never");
}

TEST_CASE("a printed period is parsed to the same period") {
  for (const char* text :
       {"7 epochs", "1 step", "0.1 hours", "1e-300 seconds", "1000000000000000 hours", "12.34 minutes"}) {
    CAPTURE(text);
    const auto period = parse_period(text);
    REQUIRE(period);
    const auto again = parse_period(to_string(*period));
    REQUIRE(again);
    CHECK(again->unit == period->unit);
    CHECK(again->count == period->count);
  }
}

}  // namespace tenon::config

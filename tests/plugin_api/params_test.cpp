#include <doctest/doctest.h>

#include <tenon/plugin.hpp>

#include "tests/plugin_api/fake_host.h"

using namespace tenon::test;

namespace {

struct ParamsFixture {
  ParamsFixture() { host.open(tenon_plugin_open); }
  FakeHost host;
  tenon_params raw;
  tenon::Params params{&raw};
};

}  // namespace

TEST_CASE_FIXTURE(ParamsFixture, "parameters of every type are read") {
  const int64_t ints[] = {1, 2};
  const double floats[] = {0.5};
  const tenon_string strings[] = {TENON_STRING("a"), TENON_STRING("bc")};
  raw.values = {{"flag", tenon_bool(1)},
                {"count", tenon_int(7)},
                {"rate", tenon_float(0.25)},
                {"word", tenon_text("hello", 5)},
                {"sizes", tenon_ints(ints, 2)},
                {"rates", tenon_list_value(TENON_VALUE_FLOATS, floats, 1)},
                {"words", tenon_list_value(TENON_VALUE_STRINGS, strings, 2)}};
  CHECK(params.boolean("flag"));
  CHECK(params.integer("count") == 7);
  CHECK(params.number("rate") == 0.25);
  CHECK(params.text("word") == "hello");
  CHECK(params.path("word") == "hello");
  CHECK(params.integers("sizes") == std::vector<int64_t>{1, 2});
  CHECK(params.numbers("rates") == std::vector<double>{0.5});
  CHECK(params.texts("words") == std::vector<std::string>{"a", "bc"});
}

TEST_CASE_FIXTURE(ParamsFixture, "a number may be an integer, also within a list") {
  const int64_t ints[] = {3};
  raw.values = {{"rate", tenon_int(2)}, {"rates", tenon_ints(ints, 1)}};
  CHECK(params.number("rate") == 2.0);
  CHECK(params.numbers("rates") == std::vector<double>{3.0});
}

TEST_CASE_FIXTURE(ParamsFixture, "a parameter read as another type is an error that names it") {
  raw.values = {{"rate", tenon_float(0.5)}};
  CHECK_THROWS_WITH_AS(params.integer("rate"),
                       "parameter \"rate\" is read as an integer; its schema declares another type", tenon::Error);
}

TEST_CASE_FIXTURE(ParamsFixture, "a parameter that the schema lacks is the host's error") {
  CHECK_THROWS_AS(params.integer("nothing"), tenon::HostError);
  CHECK(host.failure == "the host has no such parameter");
}

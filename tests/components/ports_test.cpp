#include "framework/components/calls/ports.h"

#include <doctest/doctest.h>

#include <stdexcept>

using namespace tenon::components;

namespace {

Port port_of(const char* shape, uint64_t dtypes = TENON_ANY_DTYPE) { return {"port", parse_shape(shape), dtypes, ""}; }

bool fits(const char* source, const char* port) {
  Extents extents;
  return !find_mismatch(parse_shape(source), TENON_ANY_DTYPE, port_of(port), extents);
}

}  // namespace

TEST_CASE("shapes are parsed and formatted without change") {
  CHECK(to_string(parse_shape("N,3, H ,W")) == "[N, 3, H, W]");
  CHECK(to_string(parse_shape("N,...")) == "[N, ...]");
  CHECK(to_string(parse_shape("...")) == "[...]");
  CHECK(to_string(parse_shape("")) == "[]");
  CHECK(to_string(parse_shape("*")) == "[any shape]");
}

TEST_CASE("invalid shapes are refused") {
  for (const char* text : {"N,", ",N", "N,,3", "N,-1", "...,N", "3x3", "N,*", "N 3"})
    CHECK_THROWS_AS(parse_shape(text), std::invalid_argument);
}

TEST_CASE("ndim must agree unless one side is open-ended") {
  CHECK(fits("N,1,8,8", "N,1,H,W"));
  CHECK_FALSE(fits("N,1,8", "N,1,H,W"));
  CHECK_FALSE(fits("N,1,8,8,8", "N,1,H,W"));
  CHECK(fits("N,1,8,8", "N,..."));
  CHECK(fits("N", "N,..."));
  CHECK_FALSE(fits("", "N,..."));
  CHECK(fits("N,...", "N,C,H"));
  CHECK(fits("*", "N,C,H"));
  CHECK(fits("N,C", "*"));
}

TEST_CASE("numbers must agree, and a name has one extent") {
  CHECK_FALSE(fits("N,3,8,8", "N,1,H,W"));
  CHECK(fits("N,3,8,8", "N,3,H,H"));
  CHECK_FALSE(fits("N,3,8,9", "N,3,H,H"));
  CHECK(fits("N,3,A,B", "N,3,H,H"));  // unknown before the data is seen
}

TEST_CASE("a name holds over the ports of one component") {
  Extents extents;
  CHECK_FALSE(find_mismatch(exact_shape({64, 10}), TENON_ANY_DTYPE, port_of("N,C"), extents));
  const auto reason = find_mismatch(exact_shape({63}), TENON_ANY_DTYPE, port_of("N"), extents);
  REQUIRE(reason);
  CHECK(*reason == "dimension 0 of [63] is 63, expected N = 64 as in [N]");
}

TEST_CASE("a named rest is the same in all ports of the component") {
  CHECK(to_string(parse_shape("N,C,...S")) == "[N, C, ...S]");
  CHECK_THROWS_AS(parse_shape("N,...3"), std::invalid_argument);
  const auto mismatch = [](const std::vector<int64_t>& prediction, const std::vector<int64_t>& target) {
    Extents extents;
    CHECK_FALSE(find_mismatch(exact_shape(prediction), TENON_ANY_DTYPE, port_of("N,...S"), extents));
    return find_mismatch(exact_shape(target), TENON_ANY_DTYPE, port_of("N,...S"), extents).value_or("");
  };
  CHECK(mismatch({4}, {4}) == "");
  CHECK(mismatch({4, 3, 2}, {4, 3, 2}) == "");
  CHECK(mismatch({4, 1}, {4, 3}) == "the shape is [4, 3], expected ...S = [1] as in [N, ...S]");
  CHECK(mismatch({4, 1}, {4}) == "the shape is [4], expected ...S = [1] as in [N, ...S]");
  CHECK(mismatch({4, 3, 2}, {4, 3}) == "the shape is [4, 3], expected ...S = [3, 2] as in [N, ...S]");
}

TEST_CASE("dtypes must overlap") {
  Extents extents;
  const auto reason =
      find_mismatch(parse_shape("N"), TENON_DTYPE_BIT(TENON_INT64), port_of("N", TENON_ANY_FLOAT), extents);
  REQUIRE(reason);
  CHECK(*reason == "the dtype is int64, expected float16/bfloat16/float32/float64");
  CHECK_FALSE(find_mismatch(parse_shape("N"), TENON_DTYPE_BIT(TENON_FLOAT32), port_of("N", TENON_ANY_FLOAT), extents));
}

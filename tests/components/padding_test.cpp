#include "framework/components/kinds/sample_slot.h"

#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>

#include <tenon/abi.h>

namespace padding_test {

using tenon::components::encode_element;

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

template <class T>
T decode(int32_t dtype, double value) {
  const auto element = encode_element(dtype, value);
  REQUIRE(element);
  T decoded;
  std::memcpy(&decoded, element->data(), sizeof decoded);
  return decoded;
}

uint16_t half(double value) { return decode<uint16_t>(TENON_FLOAT16, value); }
uint16_t brain(double value) { return decode<uint16_t>(TENON_BFLOAT16, value); }

}  // namespace

TEST_CASE("integers represent only the whole numbers of their range") {
  CHECK(decode<uint8_t>(TENON_UINT8, 255) == 255);
  CHECK_FALSE(encode_element(TENON_UINT8, 256));
  CHECK_FALSE(encode_element(TENON_UINT8, -1));
  CHECK(decode<int8_t>(TENON_INT8, -128) == -128);
  CHECK_FALSE(encode_element(TENON_INT8, 128));
  CHECK(decode<int16_t>(TENON_INT16, -32768) == -32768);
  CHECK(decode<int32_t>(TENON_INT32, 2147483647) == 2147483647);
  CHECK_FALSE(encode_element(TENON_INT32, 2147483648.0));
  CHECK(decode<int64_t>(TENON_INT64, -100) == -100);
  CHECK(decode<int64_t>(TENON_INT64, -std::ldexp(1.0, 63)) == std::numeric_limits<int64_t>::min());
  CHECK_FALSE(encode_element(TENON_INT64, std::ldexp(1.0, 63)));
  for (const double value : {0.5, -0.5, kInfinity, -kInfinity, kNaN}) CHECK_FALSE(encode_element(TENON_INT64, value));
}

TEST_CASE("bool represents only 0 and 1") {
  CHECK(decode<uint8_t>(TENON_BOOL, 1) == 1);
  CHECK(decode<uint8_t>(TENON_BOOL, 0) == 0);
  for (const double value : {2.0, -1.0, 0.5, kNaN}) CHECK_FALSE(encode_element(TENON_BOOL, value));
}

TEST_CASE("floating-point numbers are rounded, and finite ones stay finite") {
  CHECK(decode<float>(TENON_FLOAT32, 0.1) == 0.1f);
  CHECK(std::isnan(decode<float>(TENON_FLOAT32, kNaN)));
  CHECK(decode<float>(TENON_FLOAT32, -kInfinity) == -std::numeric_limits<float>::infinity());
  CHECK_FALSE(encode_element(TENON_FLOAT32, 1e39));
  CHECK(decode<double>(TENON_FLOAT64, 1e300) == 1e300);
}

TEST_CASE("the padding of complex dtypes is a real number") {
  const auto element = encode_element(TENON_COMPLEX64, 1.5);
  REQUIRE(element);
  float parts[2];
  std::memcpy(parts, element->data(), sizeof parts);
  CHECK(parts[0] == 1.5f);
  CHECK(parts[1] == 0);
}

TEST_CASE("float16 is rounded to the nearest, ties to even") {
  CHECK(half(0) == 0x0000);
  CHECK(half(-0.0) == 0x8000);
  CHECK(half(1) == 0x3C00);
  CHECK(half(-2) == 0xC000);
  CHECK(half(0.1) == 0x2E66);
  CHECK(half(65504) == 0x7BFF);
  CHECK(half(65519.99) == 0x7BFF);
  CHECK_FALSE(encode_element(TENON_FLOAT16, 65520));  // rounds to infinity
  CHECK_FALSE(encode_element(TENON_FLOAT16, 1e300));
  CHECK(half(kInfinity) == 0x7C00);
  CHECK(half(-kInfinity) == 0xFC00);
  CHECK((half(kNaN) & 0x7FFF) == 0x7E00);
  CHECK(half(std::ldexp(1.0, -24)) == 0x0001);  // the smallest of all
  CHECK(half(std::ldexp(1.0, -25)) == 0x0000);  // a tie, to even
  CHECK(half(std::ldexp(1.5, -24)) == 0x0002);  // a tie, to even
  CHECK(half(std::ldexp(1.0, -14)) == 0x0400);  // the smallest normal one
  CHECK(half(2049) == 0x6800);                  // a tie between 2048 and 2050
  CHECK(half(2051) == 0x6802);                  // a tie between 2050 and 2052
  CHECK(half(std::nextafter(2, 0)) == 0x4000);  // rounded up into the next exponent
  CHECK(half(std::ldexp(1.0, -1074)) == 0x0000);
}

TEST_CASE("bfloat16 is rounded to the nearest, ties to even") {
  CHECK(brain(1) == 0x3F80);
  CHECK(brain(-1e9) == 0xCE6E);
  CHECK(brain(257) == 0x4380);  // a tie between 256 and 258
  CHECK(brain(259) == 0x4382);  // a tie between 258 and 260
  CHECK(brain(kInfinity) == 0x7F80);
  CHECK((brain(kNaN) & 0x7FFF) == 0x7FC0);
  CHECK(brain(std::ldexp(1.0, -133)) == 0x0001);
  CHECK(brain(3.3895313892515355e38) == 0x7F7F);  // the largest
  CHECK_FALSE(encode_element(TENON_BFLOAT16, 3.4e38));
}

}  // namespace padding_test

#include "framework/artifacts/checkpoint/tensor_view.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

#include <cmath>
#include <limits>

namespace tenon::artifacts {
namespace {

template <class T>
TensorView view(int32_t dtype, const std::vector<T>& values) {
  return {"a",
          dtype,
          {static_cast<int64_t>(values.size())},
          reinterpret_cast<const std::byte*>(values.data()),
          values.size() * sizeof(T)};
}

template <class T>
TensorDifference compare(int32_t dtype, const std::vector<T>& a, const std::vector<T>& b) {
  return compare_tensors(view(dtype, a), view(dtype, b));
}

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr float kNan = std::numeric_limits<float>::quiet_NaN();

}  // namespace

TEST_CASE("equal tensors have no difference in any measure") {
  const TensorDifference same = compare<float>(TENON_FLOAT32, {1, -2, kNan}, {1, -2, kNan});
  CHECK(same.elements == 3);
  CHECK(same.differing == 0);
  CHECK(same.max_absolute == 0);
  CHECK(same.max_relative == 0);
  CHECK(same.max_ulps == 0);
  CHECK(compare<float>(TENON_FLOAT32, {}, {}).elements == 0);
}

TEST_CASE("differences are counted, with the largest as absolute, relative and in units in the last place") {
  const float next = std::nextafter(1000.0f, 2000.0f);
  const TensorDifference two = compare<float>(TENON_FLOAT32, {1000, 0.5f, 3}, {next, 0.25f, 3});
  CHECK(two.elements == 3);
  CHECK(two.differing == 2);
  CHECK(two.max_absolute == 0.25);
  CHECK(two.max_relative == 0.5);
  CHECK(two.max_ulps == 1 << 23);
  CHECK(compare<float>(TENON_FLOAT32, {1000}, {next}).max_ulps == 1);
  CHECK(compare<double>(TENON_FLOAT64, {1}, {std::nextafter(1.0, 0.0)}).max_ulps == 1);
}

TEST_CASE("across zero the units in the last place of both sides are added") {
  const float smallest = std::numeric_limits<float>::denorm_min();
  CHECK(compare<float>(TENON_FLOAT32, {smallest}, {-smallest}).max_ulps == 2);
  const double largest = std::numeric_limits<double>::max();
  CHECK(compare<double>(TENON_FLOAT64, {largest}, {-largest}).max_ulps == 2 * uint64_t{0x7FEFFFFFFFFFFFFF});
  const TensorDifference zeros = compare<float>(TENON_FLOAT32, {0.0f}, {-0.0f});
  CHECK(zeros.differing == 1);
  CHECK(zeros.max_absolute == 0);
  CHECK(zeros.max_ulps == 0);
}

TEST_CASE("NaN and infinity on one side have an infinite difference") {
  for (const float odd : {kNan, static_cast<float>(kInfinity)}) {
    const TensorDifference one = compare<float>(TENON_FLOAT32, {odd, 1}, {1, 1});
    CHECK(one.differing == 1);
    CHECK(one.max_absolute == kInfinity);
    CHECK(one.max_relative == kInfinity);
  }
  CHECK(compare<float>(TENON_FLOAT32, {kNan}, {1}).max_ulps == 0);
  const TensorDifference payloads = compare<float>(TENON_FLOAT32, {kNan}, {-kNan});
  CHECK(payloads.differing == 1);
  CHECK(payloads.max_absolute == 0);
}

TEST_CASE("float16 and bfloat16 are decoded correctly") {
  const auto value_of = [](int32_t dtype, uint16_t bits) {
    const std::vector<uint16_t> half{bits};
    const std::vector<double> zero{0};
    return compare_tensors(view(dtype, half), view(TENON_FLOAT64, zero)).max_absolute;
  };
  CHECK(value_of(TENON_FLOAT16, 0x3C00) == 1);
  CHECK(value_of(TENON_FLOAT16, 0xC000) == 2);
  CHECK(value_of(TENON_FLOAT16, 0x7BFF) == 65504);
  CHECK(value_of(TENON_FLOAT16, 0x0001) == std::ldexp(1, -24));
  CHECK(value_of(TENON_FLOAT16, 0x0400) == std::ldexp(1, -14));
  CHECK(value_of(TENON_FLOAT16, 0xFC00) == kInfinity);
  CHECK(value_of(TENON_FLOAT16, 0x7E00) == kInfinity);
  CHECK(value_of(TENON_BFLOAT16, 0x3F80) == 1);
  CHECK(value_of(TENON_BFLOAT16, 0x4049) == 3.140625);
  CHECK(value_of(TENON_BFLOAT16, 0x0001) == std::ldexp(1, -133));
  CHECK(compare<uint16_t>(TENON_BFLOAT16, {0x3F80}, {0x3F82}).max_ulps == 2);
}

TEST_CASE("integers are exact, also if they are equal as doubles") {
  const TensorDifference far = compare<int64_t>(TENON_INT64, {INT64_MAX, 7}, {INT64_MAX - 1, 7});
  CHECK(far.differing == 1);
  CHECK(far.max_absolute == 1);
  CHECK_FALSE(far.max_ulps);
  CHECK(compare<int64_t>(TENON_INT64, {INT64_MIN}, {INT64_MAX}).max_absolute == std::ldexp(1, 64));
  CHECK(compare<uint8_t>(TENON_UINT8, {255}, {0}).max_absolute == 255);
  CHECK(compare<int8_t>(TENON_INT8, {-128}, {127}).max_absolute == 255);
}

TEST_CASE("tensors of two dtypes are compared by value") {
  const std::vector<float> a{0.5f, 2};
  const std::vector<double> b{0.5, 3};
  const TensorDifference one = compare_tensors(view(TENON_FLOAT32, a), view(TENON_FLOAT64, b));
  CHECK(one.differing == 1);
  CHECK(one.max_absolute == 1);
  CHECK_FALSE(one.max_ulps);
}

}  // namespace tenon::artifacts

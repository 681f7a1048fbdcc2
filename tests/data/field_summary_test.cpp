#include "framework/data/field_summary.h"

#include <doctest/doctest.h>
#include <tenon/abi.h>

#include <cstring>
#include <limits>

using tenon::components::SampleField;
using tenon::data::FieldSummary;

namespace {

template <class T>
void add(FieldSummary& summary, int64_t sample, std::vector<int64_t> shape, const std::vector<T>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(T) + 1);
  if (!values.empty()) std::memcpy(bytes.data() + 1, values.data(), values.size() * sizeof(T));  // unaligned
  summary.add(sample, shape, bytes.data() + 1);
}

FieldSummary make_summary(int32_t dtype, int64_t classes = 0) {
  return {SampleField{.name = "x", .dtype = dtype, .shape = {}, .element_bytes = 0, .sample_bytes = 0}, classes};
}

template <class T>
void check_extremes(int32_t dtype) {
  FieldSummary summary = make_summary(dtype);
  add<T>(summary, 0, {2}, {std::numeric_limits<T>::lowest(), T(3)});
  add<T>(summary, 1, {1}, {std::numeric_limits<T>::max()});
  CAPTURE(dtype);
  CHECK(summary.smallest() == static_cast<double>(std::numeric_limits<T>::lowest()));
  CHECK(summary.largest() == static_cast<double>(std::numeric_limits<T>::max()));
}

}  // namespace

TEST_CASE("the range of values is that of the dtype") {
  check_extremes<double>(TENON_FLOAT64);
  check_extremes<float>(TENON_FLOAT32);
  check_extremes<int64_t>(TENON_INT64);
  check_extremes<int32_t>(TENON_INT32);
  check_extremes<int16_t>(TENON_INT16);
  check_extremes<int8_t>(TENON_INT8);
  check_extremes<uint8_t>(TENON_UINT8);
}

TEST_CASE("16-bit floats are decoded") {
  FieldSummary half = make_summary(TENON_FLOAT16);
  add<uint16_t>(half, 0, {4}, {0x0001, 0xC000, 0x7BFF, 0x7C00});  // 2^-24, -2, 65504, infinity
  CHECK(half.smallest() == -2);
  CHECK(half.largest() == 65504);
  CHECK(half.non_finite().count == 1);
  FieldSummary brain = make_summary(TENON_BFLOAT16);
  add<uint16_t>(brain, 0, {2}, {0x3F80, 0x4040});  // 1, 3
  CHECK(brain.smallest() == 1);
  CHECK(brain.largest() == 3);
}

TEST_CASE("shapes are the smallest and largest extents over all samples") {
  FieldSummary summary = make_summary(TENON_UINT8);
  CHECK(summary.smallest_shape().empty());
  add<uint8_t>(summary, 0, {1, 3}, {1, 2, 3});
  add<uint8_t>(summary, 1, {2, 1}, {4, 5});
  add<uint8_t>(summary, 2, {0, 2}, {});
  CHECK(summary.smallest_shape() == std::vector<int64_t>{0, 1});
  CHECK(summary.largest_shape() == std::vector<int64_t>{2, 3});
  CHECK(summary.largest() == 5);
}

TEST_CASE("samples with values that are not finite are counted, and the first ones kept") {
  const float nan = std::nanf(""), infinite = std::numeric_limits<float>::infinity();
  FieldSummary summary = make_summary(TENON_FLOAT32);
  for (int64_t sample = 0; sample < 10; ++sample)
    add<float>(summary, sample, {3}, {1, sample % 2 == 0 ? nan : 2, sample == 4 ? -infinite : 3});
  CHECK(summary.non_finite().count == 5);
  CHECK(summary.non_finite().first == std::vector<int64_t>{0, 2, 4});
  CHECK(summary.smallest() == 1);
  CHECK(summary.largest() == 3);
}

TEST_CASE("a class counts once for each sample that has it, and other numbers are listed") {
  FieldSummary mask = make_summary(TENON_INT64, 3);
  add<int64_t>(mask, 0, {2, 2}, {0, 0, 1, 0});
  add<int64_t>(mask, 1, {2, 2}, {0, 255, 255, 0});
  add<int64_t>(mask, 7, {2, 2}, {-1, 1, 1, 1});
  CHECK(mask.class_samples() == std::vector<int64_t>{2, 2, 0});
  CHECK(mask.without_class().count == 2);
  CHECK(mask.without_class().first == std::vector<int64_t>{1, 7});
}

#include "framework/data/batch_ring.h"

#include <doctest/doctest.h>

#include <cstring>
#include <random>

#include "framework/support/diagnostics/error.h"
#include "tenon/abi.h"

using tenon::components::encode_element;
using tenon::data::Field;
using tenon::data::PaddedField;

namespace {

using Shape = std::vector<int64_t>;

template <class T>
Field field_of(int32_t dtype, const Shape& shape, double padding) {
  return {"tokens", dtype, shape, sizeof(T), 0, *encode_element(dtype, padding)};
}

int64_t elements_of(const Shape& shape) {
  int64_t elements = 1;
  for (const int64_t extent : shape) elements *= extent;
  return elements;
}

// Fills the sample with first, first + 1, ...
template <class T>
void write(PaddedField& padded, int64_t place, const Shape& shape, int first) {
  std::vector<T> numbers;
  for (int64_t i = 0; i < elements_of(shape); ++i) numbers.push_back(static_cast<T>(first + i));
  std::byte* memory = padded.sample(place).resize(shape, numbers.size() * sizeof(T));
  if (!numbers.empty()) std::memcpy(memory, numbers.data(), numbers.size() * sizeof(T));
}

template <class T>
std::vector<T> elements(const PaddedField& padded) {
  const auto* begin = reinterpret_cast<const T*>(padded.block().data);
  return std::vector<T>(begin, begin + elements_of(padded.block().shape));
}

// The expected element at this place of this sample within the block, or the padding.
template <class T>
T expected_element(const Shape& block, const Shape& shape, int first, T padding, int64_t place) {
  int64_t number = 0;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    const int64_t index = place % block[d + 1];
    place /= block[d + 1];
    if (index >= shape[d]) return padding;
    number += index * stride;
    stride *= shape[d];
  }
  return static_cast<T>(first + number);
}

// Pads samples of random shapes and compares every element.
template <class T>
void check_random_shapes(int32_t dtype, const Shape& declared, double padding) {
  std::mt19937 random(7);
  const Field field = field_of<T>(dtype, declared, padding);
  PaddedField padded(field, 6);
  T fill;
  std::memcpy(&fill, field.padding.data(), sizeof fill);
  for (int trial = 0; trial < 50; ++trial) {
    const int64_t size = 1 + trial % 6;
    std::vector<Shape> shapes;
    Shape largest(declared.size(), 0);
    for (int64_t i = 0; i < size; ++i) {
      Shape shape = declared;
      for (size_t d = 0; d < shape.size(); ++d) {
        if (shape[d] == -1) shape[d] = static_cast<int64_t>(random() % 5);
        largest[d] = std::max(largest[d], shape[d]);
      }
      write<T>(padded, i, shape, static_cast<int>(10 * i));
      shapes.push_back(shape);
    }
    padded.pad(size);
    Shape expected_shape = largest;
    expected_shape.insert(expected_shape.begin(), size);
    REQUIRE(padded.block().shape == expected_shape);
    std::vector<T> expected;
    for (int64_t i = 0; i < size; ++i)
      for (int64_t place = 0; place < elements_of(largest); ++place)
        expected.push_back(
            expected_element(expected_shape, shapes[static_cast<size_t>(i)], static_cast<int>(10 * i), fill, place));
    CHECK(elements<T>(padded) == expected);
  }
}

}  // namespace

TEST_CASE("lists are padded to the longest of their batch") {
  const Field field = field_of<int64_t>(TENON_INT64, {-1}, -100);
  PaddedField padded(field, 3);
  write<int64_t>(padded, 0, {2}, 5);
  write<int64_t>(padded, 1, {0}, 0);
  write<int64_t>(padded, 2, {3}, 7);
  padded.pad(3);
  CHECK(padded.block().shape == Shape{3, 3});
  CHECK(elements<int64_t>(padded) == std::vector<int64_t>{5, 6, -100, -100, -100, -100, 7, 8, 9});
}

TEST_CASE("samples of any ndim and element size start at index 0 of every dimension") {
  check_random_shapes<uint8_t>(TENON_UINT8, {-1}, 255);
  check_random_shapes<int64_t>(TENON_INT64, {-1, -1}, -1);
  check_random_shapes<float>(TENON_FLOAT32, {-1, 3}, 0.5);
  check_random_shapes<int16_t>(TENON_INT16, {2, -1}, 9);
  check_random_shapes<uint16_t>(TENON_BFLOAT16, {-1, 2, -1}, 1);
  check_random_shapes<double>(TENON_FLOAT64, {2, -1, 3, -1}, -0.5);
}

TEST_CASE("a long rest is filled to its end") {
  const Field field = field_of<int32_t>(TENON_INT32, {-1}, 3);
  PaddedField padded(field, 2);
  write<int32_t>(padded, 0, {1}, 1);
  write<int32_t>(padded, 1, {30000}, 0);
  padded.pad(2);
  std::vector<int32_t> expected(30000, 3);
  expected[0] = 1;
  for (int32_t i = 0; i < 30000; ++i) expected.push_back(i);
  CHECK(elements<int32_t>(padded) == expected);
}

TEST_CASE("a batch without any element has a shape and an address") {
  const Field field = field_of<float>(TENON_FLOAT32, {-1, 4}, 0);
  PaddedField padded(field, 2);
  for (const int64_t place : {0, 1}) write<float>(padded, place, {0, 4}, 0);
  padded.pad(2);
  CHECK(padded.block().shape == Shape{2, 0, 4});
  CHECK(padded.block().data != nullptr);
}

TEST_CASE("a batch has the least extent of its field, and the lengths of its samples") {
  Field field = field_of<int64_t>(TENON_INT64, {-1, 2, -1}, 7);
  field.least_extent = 2;
  PaddedField padded(field, 2);
  write<int64_t>(padded, 0, {0, 2, 3}, 0);
  write<int64_t>(padded, 1, {1, 2, 0}, 0);
  padded.pad(2);
  CHECK(padded.block().shape == Shape{2, 2, 2, 3});
  CHECK(elements<int64_t>(padded) == std::vector<int64_t>(2 * 2 * 2 * 3, 7));
  CHECK(padded.block().is_padded);
  CHECK(padded.block().lengths == Shape{0, 3, 1, 0});
  padded.pad(1);
  CHECK(padded.block().lengths == Shape{0, 3});
}

TEST_CASE("memory grows with the largest batch and is kept for smaller ones") {
  const Field field = field_of<int64_t>(TENON_INT64, {-1}, 0);
  PaddedField padded(field, 1);
  write<int64_t>(padded, 0, {100000}, 0);
  padded.pad(1);
  const std::byte* const sample = padded.sample(0).data();
  const std::byte* const block = padded.block().data;
  for (const int64_t length : {1, 0, 5000, 100000}) {
    write<int64_t>(padded, 0, {length}, 3);
    padded.pad(1);
    CHECK(padded.sample(0).data() == sample);
    CHECK(padded.block().data == block);
    CHECK(padded.block().shape == Shape{1, length});
  }
  CHECK(reinterpret_cast<uintptr_t>(sample) % 64 == 0);
  CHECK(reinterpret_cast<uintptr_t>(block) % 64 == 0);
}

TEST_CASE("a block that does not fit into memory is refused with its field and shape") {
  const Field field = field_of<uint8_t>(TENON_UINT8, {-1, -1}, 0);
  PaddedField padded(field, 2);
  const int64_t many = int64_t{1} << 39;
  padded.sample(0).resize(Shape{many, 0}, 0);
  padded.sample(1).resize(Shape{0, many}, 0);
  try {
    padded.pad(2);
    FAIL("not refused");
  } catch (const tenon::support::Error& error) {
    CHECK(error.kind() == tenon::support::ErrorKind::configuration);
    CHECK(std::string(error.what())
              .find("the field tokens, padded to the largest sample of its batch, has the shape "
                    "[2, 549755813888, 549755813888] and takes") != std::string::npos);
  }
}

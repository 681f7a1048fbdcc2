#include <doctest/doctest.h>

#include <tenon/random.h>
#include <cmath>
#include <tenon/random.hpp>
#include <vector>

TEST_CASE("the numbers are those of Philox-4x32-10") {
  // The known answers of the paper's library: for a zero counter and key, and for a key only.
  tenon::Random zero(0);
  CHECK(zero() == 0xe169c58d6627e8d5u);
  CHECK(zero() == 0x9b00dbd8bc57ac4cu);
}

TEST_CASE("equal seeds give equal sequences, and another stream gives another one") {
  tenon::Random first(42), again(42), other(42, 1), next(43);
  const uint64_t number = first();
  CHECK(number == again());
  CHECK(number != other());
  CHECK(number != next());
}

TEST_CASE("uniform numbers fill the interval and do not leave it") {
  tenon::Random random(1);
  double sum = 0, smallest = 1e9, largest = -1e9;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double number = random.uniform(-2, 4);
    sum += number;
    smallest = std::fmin(smallest, number);
    largest = std::fmax(largest, number);
  }
  CHECK(smallest >= -2);
  CHECK(smallest < -1.99);
  CHECK(largest < 4);
  CHECK(largest > 3.99);
  CHECK(sum / kCount == doctest::Approx(1).epsilon(0.02));
}

TEST_CASE("normal numbers have the expected mean and deviation") {
  tenon::Random random(2);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double number = random.normal(3, 2);
    sum += number;
    squares += (number - 3) * (number - 3);
  }
  CHECK(sum / kCount == doctest::Approx(3).epsilon(0.01));
  CHECK(std::sqrt(squares / kCount) == doctest::Approx(2).epsilon(0.01));
}

TEST_CASE("integers below a count are equally likely") {
  tenon::Random random(3);
  std::vector<int> drawn(3, 0);
  for (int i = 0; i < 30000; ++i) ++drawn.at(static_cast<size_t>(random.integer(3)));
  for (const int count : drawn) CHECK(std::abs(count - 10000) < 400);
}

TEST_CASE("a count just above half of the range is sampled without bias") {
  // Without rejection the lower half would be twice as likely.
  tenon::Random random(4);
  constexpr int64_t kCount = int64_t{3} << 61;
  int lower = 0;
  for (int i = 0; i < 10000; ++i) lower += random.integer(kCount) < kCount / 2;
  CHECK(std::abs(lower - 5000) < 250);
}

TEST_CASE("C and C++ give the same numbers") {
  tenon_random in_c = tenon_random_start(7, 3);
  tenon::Random in_cpp(7, 3);
  for (int i = 0; i < 10; ++i) {
    CHECK(tenon_random_bits(&in_c) == in_cpp());
    CHECK(tenon_random_uniform(&in_c) == in_cpp.uniform());
    CHECK(tenon_random_normal(&in_c) == in_cpp.normal());
    CHECK(tenon_random_integer(&in_c, 1000) == in_cpp.integer(1000));
  }
}

// Tests the checks of a sink before it calls the host.
#include <doctest/doctest.h>

#include <cmath>
#include <cstring>
#include <limits>
#include <tenon/dataset.hpp>

#include "tests/plugin_api/fake_host.h"

using namespace tenon::test;

namespace {

std::vector<tenon::Field> all_fields() {
  return {{"tokens", TENON_INT64, {-1}, "word ids", -100},
          {"boxes", TENON_FLOAT32, {-1, 4}},
          {"point", TENON_FLOAT32, {2}},
          {"uint8", TENON_UINT8, {}},
          {"int8", TENON_INT8, {}},
          {"int64", TENON_INT64, {}},
          {"float16", TENON_FLOAT16, {}},
          {"float32", TENON_FLOAT32, {}},
          {"float64", TENON_FLOAT64, {}},
          {"bool", TENON_BOOL, {}}};
}

// A host that returns the same memory for every field and records the requested shape.
struct Requested {
  template <class T>
  T first() const {
    T value;
    std::memcpy(&value, memory, sizeof value);
    return value;
  }

  static tenon_status slot(const tenon_sink* sink, uint64_t field, const int64_t* shape, uint32_t ndim, void** memory) {
    auto& requested = *static_cast<Requested*>(sink->context);
    requested.field = field;
    requested.shape.assign(shape, shape + ndim);
    *memory = requested.memory;
    return TENON_OK;
  }

  const tenon::detail::Table<tenon::Field> fields{all_fields()};
  alignas(8) std::byte memory[256] = {};
  uint64_t field = 0;
  std::vector<int64_t> shape;
  const tenon_sink table = {sizeof table, this, slot};
  const tenon::Sink sink{&table, &fields};
};

template <class Body>
std::string refusal_of(Body body) {
  try {
    body();
  } catch (const tenon::Error& error) {
    CHECK(error.status() == TENON_INVALID_ARGUMENT);
    return error.what();
  }
  return "not refused";
}

constexpr int64_t kLargest = std::numeric_limits<int64_t>::max();

}  // namespace

TEST_CASE_FIXTURE(Requested, "a field reports its varying extents and its padding to the host") {
  const tenon_field* const* descriptors = nullptr;
  uint64_t count = 0;
  fields.hand_out(&descriptors, &count);
  REQUIRE(count == 10);
  CHECK(descriptors[0]->ndim == 1);
  CHECK(descriptors[0]->shape[0] == -1);
  CHECK(descriptors[0]->padding == -100);
  CHECK(descriptors[1]->shape[1] == 4);
  CHECK(descriptors[1]->padding == 0);
}

TEST_CASE_FIXTURE(Requested, "a field of varying size is requested with the shape of the sample") {
  CHECK((static_cast<void*>(sink.slot<float>("boxes", {7, 4})) == memory));
  CHECK(field == 1);
  CHECK(shape == std::vector<int64_t>{7, 4});
  sink.raw_slot("tokens", {0});
  CHECK(shape == std::vector<int64_t>{0});
}

TEST_CASE_FIXTURE(Requested, "a field of varying size has no memory before its shape is known") {
  CHECK(refusal_of([&] { sink.slot<float>("boxes"); }) ==
        "field \"boxes\" differs in size between samples; pass the shape of this sample, as in "
        "slot<T>(\"boxes\", {extents})");
  CHECK(refusal_of([&] { sink.raw_slot(0); }).find("field \"tokens\" differs in size") == 0);
}

TEST_CASE_FIXTURE(Requested, "a field of varying size keeps its element type") {
  CHECK(refusal_of([&] { sink.slot<int32_t>("tokens", {3}); }) ==
        "field \"tokens\" has dtype int64; it is accessed as int32");
}

TEST_CASE_FIXTURE(Requested, "a vector fills a list of the same length") {
  sink.put("tokens", std::vector<int64_t>{5, 6, 7});
  CHECK(shape == std::vector<int64_t>{3});
  CHECK(first<int64_t>() == 5);
  CHECK(static_cast<const int64_t*>(static_cast<void*>(memory))[2] == 7);
  sink.put("point", std::vector<float>{1, 2});
  CHECK(shape == std::vector<int64_t>{2});
  CHECK(refusal_of([&] { sink.put("boxes", std::vector<float>(8)); }) ==
        "field \"boxes\" is not a list; write it through slot()");
  CHECK(refusal_of([&] { sink.put("tokens", std::vector<int32_t>{5}); }) ==
        "field \"tokens\" has dtype int64; it is accessed as int32");
}

TEST_CASE_FIXTURE(Requested, "a number is written to any dtype that can represent it") {
  const auto written = [&]<class T>(const char* name, auto value, T) {
    sink.put(name, value);
    return first<T>();
  };
  CHECK(written("int64", 3, int64_t{}) == 3);
  CHECK(written("int64", size_t{4}, int64_t{}) == 4);
  CHECK(written("int64", -5.0, int64_t{}) == -5);
  CHECK(written("int64", std::numeric_limits<int64_t>::min(), int64_t{}) == std::numeric_limits<int64_t>::min());
  CHECK(written("int64", -std::ldexp(1.0, 63), int64_t{}) == std::numeric_limits<int64_t>::min());
  CHECK(written("uint8", 255, uint8_t{}) == 255);
  CHECK(written("int8", -128L, int8_t{}) == -128);
  CHECK(written("float32", 1 << 24, float{}) == 16777216);
  CHECK(written("float32", 0.5, float{}) == 0.5f);
  CHECK(std::isinf(written("float32", std::numeric_limits<double>::infinity(), float{})));
  CHECK(std::isnan(written("float32", std::numeric_limits<double>::quiet_NaN(), float{})));
  CHECK(written("float32", 0.1, float{}) == 0.1f);
  CHECK(written("float64", 0.1f, double{}) == double{0.1f});
  CHECK(written("bool", 1, bool{}));
  CHECK(written("uint8", true, uint8_t{}) == 1);
}

TEST_CASE_FIXTURE(Requested, "a number that the dtype cannot represent is rejected") {
  CHECK(refusal_of([&] { sink.put("uint8", 256); }) ==
        "field \"uint8\" holds uint8, which cannot represent the value 256; convert it first, or write it through "
        "raw_slot()");
  const auto is_refused = [&](const char* name, auto value) {
    return refusal_of([&] { sink.put(name, value); }).find("; convert it first") != std::string::npos;
  };
  CHECK(is_refused("uint8", -1));
  CHECK(is_refused("int8", 128u));
  CHECK(is_refused("int64", 0.5));
  CHECK(is_refused("int64", std::ldexp(1.0, 63)));
  CHECK(is_refused("int64", std::numeric_limits<double>::quiet_NaN()));
  CHECK(is_refused("int64", std::numeric_limits<uint64_t>::max()));
  CHECK(is_refused("float32", (1 << 24) + 1));
  CHECK(is_refused("float32", 1e300));
  CHECK(is_refused("float64", kLargest));
  CHECK(is_refused("float32", kLargest));
  CHECK(is_refused("float16", 1));
  CHECK(is_refused("bool", 2));
  CHECK(is_refused("bool", 0.5));
  CHECK(refusal_of([&] { sink.put("point", 1.0f); }) ==
        "field \"point\" is not a single number; write it through slot()");
}

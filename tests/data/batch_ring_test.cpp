#include "framework/data/batch_ring.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "framework/support/diagnostics/error.h"
#include "tenon/abi.h"

using tenon::data::Batch;
using tenon::data::BatchRing;
using tenon::data::Field;
using tenon::data::SampleSlot;

namespace {

const std::vector<Field> kFields = {{"image", TENON_FLOAT32, {3, 5}, 4, 60}, {"flag", TENON_UINT8, {}, 1, 1}};

std::vector<std::byte*> starts_of(const BatchRing& ring, int64_t number) {
  Batch batch{0, {}};
  ring.describe_batch(number, 7, batch);
  std::vector<std::byte*> starts;
  for (const Batch::Field& field : batch.fields) starts.push_back(field.data);
  return starts;
}

}  // namespace

TEST_CASE("every field of every batch begins at a multiple of 64 bytes") {
  const BatchRing ring(kFields, 7, 3);
  std::set<std::byte*> starts;
  for (int64_t number = 0; number < 3; ++number) {
    for (std::byte* start : starts_of(ring, number)) {
      CHECK(reinterpret_cast<uintptr_t>(start) % 64 == 0);
      starts.insert(start);
    }
  }
  CHECK(starts.size() == 6);
}

TEST_CASE("batches use the slots one after another") {
  const BatchRing ring(kFields, 7, 3);
  CHECK(starts_of(ring, 0) == starts_of(ring, 3));
  CHECK(starts_of(ring, 0) != starts_of(ring, 1));
}

TEST_CASE("the samples of a batch are contiguous and fill it") {
  BatchRing ring(kFields, 7, 2);
  std::vector<SampleSlot> sample(2);
  for (int64_t place = 0; place < 7; ++place) {
    ring.locate_sample(1, place, sample);
    CHECK(sample[0].fixed == starts_of(ring, 1)[0] + 60 * place);
    CHECK(sample[1].fixed == starts_of(ring, 1)[1] + place);
    std::memset(sample[0].fixed, 1, 60);  // an address sanitizer reports writes outside the slot
    std::memset(sample[1].fixed, 1, 1);
  }
}

TEST_CASE("batches that do not fit into memory are refused with their size") {
  const std::vector<Field> huge = {{"image", TENON_FLOAT32, {1 << 20, 1 << 20}, 4, size_t{1} << 42}};
  try {
    const BatchRing ring(huge, int64_t{1} << 40, 3);
    FAIL("not refused");
  } catch (const tenon::support::Error& error) {
    CHECK(error.kind() == tenon::support::ErrorKind::configuration);
    CHECK(std::string(error.what()).find("3 batches of 1099511627776 samples take 13835058055282163712 MiB") !=
          std::string::npos);
  }
}

TEST_CASE("a batch is as large as its samples, and has the shape of its fields") {
  const BatchRing ring(kFields, 7, 2);
  Batch batch{0, {}};
  for (const int64_t size : {7, 3}) {
    ring.describe_batch(0, size, batch);
    CHECK(batch.size == size);
    REQUIRE(batch.fields.size() == 2);
    CHECK(batch.fields[0].shape == std::vector<int64_t>{size, 3, 5});
    CHECK(batch.fields[1].shape == std::vector<int64_t>{size});
  }
}

TEST_CASE("a varying-size field has separate memory for each sample, other fields are unaffected") {
  std::vector<Field> fields = kFields;
  fields.insert(fields.begin() + 1, {"tokens", TENON_UINT8, {-1}, 1, 0});
  BatchRing ring(fields, 4, 2);
  CHECK(ring.has_varying_fields());
  CHECK_FALSE(BatchRing(kFields, 4, 2).has_varying_fields());
  std::vector<SampleSlot> sample(3);
  std::set<tenon::data::VaryingSample*> memories;
  for (const int64_t number : {0, 1, 2}) {
    for (int64_t place = 0; place < 4; ++place) {
      ring.locate_sample(number, place, sample);
      CHECK(sample[0].fixed == starts_of(ring, number)[0] + 60 * place);
      CHECK(sample[1].fixed == nullptr);
      CHECK(sample[2].fixed == starts_of(ring, number)[2] + place);
      memories.insert(sample[1].varying);
    }
  }
  CHECK(memories.size() == 8);
}

#include "framework/data/batch_ring.h"

#include <doctest/doctest.h>

#include <cstring>
#include <set>

#include "framework/support/error.h"
#include "tenon/abi.h"

using tenon::data::BatchRing;
using tenon::data::Field;

namespace {

const std::vector<Field> kFields = {{"image", TENON_FLOAT32, {3, 5}, 60}, {"flag", TENON_UINT8, {}, 1}};

}  // namespace

TEST_CASE("every field of every batch begins at a multiple of 64 bytes") {
  const BatchRing ring(kFields, 7, 3);
  std::set<std::byte*> starts;
  for (int64_t number = 0; number < 3; ++number) {
    for (std::byte* start : ring.batch(number)) {
      CHECK(reinterpret_cast<uintptr_t>(start) % 64 == 0);
      starts.insert(start);
    }
  }
  CHECK(starts.size() == 6);
}

TEST_CASE("batches take the slots in turn") {
  const BatchRing ring(kFields, 7, 3);
  CHECK(ring.batch(0) == ring.batch(3));
  CHECK(ring.batch(0) != ring.batch(1));
}

TEST_CASE("the samples of a batch lie side by side and fill it") {
  const BatchRing ring(kFields, 7, 2);
  std::vector<std::byte*> sample(2);
  for (int64_t place = 0; place < 7; ++place) {
    ring.locate_sample(1, place, sample);
    CHECK(sample[0] == ring.batch(1)[0] + 60 * place);
    CHECK(sample[1] == ring.batch(1)[1] + place);
    std::memset(sample[0], 1, 60);  // all of it is ours: an address sanitizer looks on
    std::memset(sample[1], 1, 1);
  }
}

TEST_CASE("batches that no memory can hold are refused with their size") {
  const std::vector<Field> huge = {{"image", TENON_FLOAT32, {1 << 20, 1 << 20}, size_t{1} << 42}};
  try {
    const BatchRing ring(huge, int64_t{1} << 40, 3);
    FAIL("not refused");
  } catch (const tenon::support::Error& error) {
    CHECK(error.kind() == tenon::support::ErrorKind::configuration);
    CHECK(std::string(error.what()).find("3 batches of 1099511627776 samples") != std::string::npos);
  }
}

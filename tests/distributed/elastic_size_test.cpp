#include "framework/distributed/launch/elastic_size.h"

#include <doctest/doctest.h>

#include "framework/support/diagnostics/error.h"

namespace tenon::distributed {

TEST_CASE("a lost process is started again, and one that is lost again is left out") {
  ElasticSize size({2, 4});
  CHECK(size.processes() == 4);
  CHECK(size.lose());
  CHECK(size.processes() == 4);
  CHECK(size.lose());
  CHECK(size.processes() == 3);
  CHECK(size.lose());
  CHECK(size.processes() == 2);
  CHECK(size.lose());
  CHECK(size.processes() == 2);
}

TEST_CASE("a checkpoint with all processes forgets earlier losses") {
  ElasticSize size({2, 4});
  for (int i = 0; i < 5; ++i) {
    CHECK(size.lose());
    CHECK(size.processes() == 4);
    CHECK_FALSE(size.note_checkpoint());
  }
}

TEST_CASE("after a checkpoint with fewer processes all are tried again") {
  ElasticSize size({1, 4});
  size.lose();
  size.lose();
  size.lose();
  REQUIRE(size.processes() == 2);
  CHECK(size.note_checkpoint());
  CHECK(size.processes() == 4);
  CHECK_FALSE(size.note_checkpoint());  // it worked
  CHECK(size.lose());
  CHECK(size.processes() == 4);
}

TEST_CASE("an attempt with more processes that fails costs nothing, and the next one waits twice as long") {
  ElasticSize size({1, 4});
  size.lose();
  size.lose();
  size.lose();
  for (const int checkpoints : {1, 2, 4, 8}) {
    CAPTURE(checkpoints);
    for (int i = 1; i < checkpoints; ++i) CHECK_FALSE(size.note_checkpoint());
    CHECK(size.note_checkpoint());
    CHECK(size.processes() == 4);
    const bool is_start = checkpoints == 2;
    CHECK((is_start ? size.fail_to_start() : !size.lose()));
    CHECK(size.processes() == 2);
  }
}

TEST_CASE("processes that cannot be started are left out") {
  ElasticSize size({2, 3});
  CHECK(size.fail_to_start());
  CHECK(size.processes() == 2);
  CHECK_FALSE(size.fail_to_start());
  CHECK(size.note_checkpoint());
  CHECK(size.processes() == 3);
}

TEST_CASE("one number of processes never changes") {
  ElasticSize size({3, 3});
  for (int i = 0; i < 4; ++i) CHECK(size.lose());
  CHECK_FALSE(size.fail_to_start());
  CHECK_FALSE(size.note_checkpoint());
  CHECK(size.processes() == 3);
  CHECK_THROWS_AS(ElasticSize({3, 2}), support::Error);
  CHECK_THROWS_AS(ElasticSize({0, 2}), support::Error);
}

}  // namespace tenon::distributed

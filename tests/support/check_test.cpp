#include "framework/support/diagnostics/check.h"

#include <doctest/doctest.h>

#include <string>

namespace tenon::support {

TEST_CASE("a check that holds does nothing") {
  const int rank = 1;
  TENON_CHECK(rank < 2, "rank " << rank);
}

TEST_CASE("a failed check is an internal error with the condition and both values") {
  const int rank = 3;
  try {
    TENON_CHECK(rank < 2, "rank " << rank << ", world size " << 2);
    FAIL("no error");
  } catch (const Error& error) {
    CHECK(error.kind() == ErrorKind::internal);
    CHECK(error.exit_code() == 1);
    const std::string message = error.what();
    CHECK(message.find("check_test.cpp:") != message.npos);
    CHECK(message.find("rank < 2 does not hold: rank 3, world size 2") != message.npos);
  }
}

}  // namespace tenon::support

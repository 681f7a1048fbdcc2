#include "host/process/describe_failure.h"

#include <c10/util/Exception.h>
#include <doctest/doctest.h>
#include <sys/resource.h>

#include <new>

#include "framework/support/diagnostics/error.h"

using tenon::host::describe_failure;
using tenon::host::Failure;

TEST_CASE("the message of an unknown error has no backtrace") {
  const c10::Error error({"read", "reader.cpp", 7}, "the reader failed");
  CHECK(std::string(error.what()).find("Exception raised from") != std::string::npos);
  const Failure failure = describe_failure(error);
  CHECK(failure.exit_code == 1);
  CHECK(failure.message == "internal error: the reader failed");
}

TEST_CASE("a system without random numbers is a fault of the machine") {
  for (const char* const message : {"Unable to open /dev/urandom", "Unable to read from /dev/urandom"}) {
    const Failure failure = describe_failure(c10::Error({"read", "reader.cpp", 7}, message));
    CHECK(failure.exit_code == 11);
    CHECK(failure.message == std::string("the system refused a request: ") + message);
  }
}

TEST_CASE("memory that runs out within a limited address space names the limit") {
  rlimit before{};
  REQUIRE(getrlimit(RLIMIT_AS, &before) == 0);
  const Failure unlimited = describe_failure(std::bad_alloc());
  if (before.rlim_cur == RLIM_INFINITY) CHECK(unlimited.exit_code == 10);
  const rlimit limited{rlim_t{1} << 45, before.rlim_max};
  REQUIRE(setrlimit(RLIMIT_AS, &limited) == 0);
  const Failure failure = describe_failure(std::bad_alloc());
  setrlimit(RLIMIT_AS, &before);
  CHECK(failure.exit_code == 11);
  CHECK(failure.message.find("limited to 33554432 MiB") != std::string::npos);
  CHECK(failure.message.find("ulimit -v") != std::string::npos);
}

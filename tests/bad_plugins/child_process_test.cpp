// Detection of checks that hang in their child process.
#include "framework/validation/session/child_process.h"

#include <doctest/doctest.h>
#include <unistd.h>

#include <chrono>
#include <thread>

using namespace tenon::validation;

namespace {

void rest(int milliseconds) { std::this_thread::sleep_for(std::chrono::milliseconds(milliseconds)); }

}  // namespace

TEST_CASE("a check that takes long because of many calls does not count as hung") {
  const ChildEnd end = run_in_child(
      [] {
        for (int call = 0; call < 30; ++call) {
          record_call("forward", "");
          rest(50);
        }
        return std::string("done");
      },
      /*timeout_s=*/1);
  CHECK(end.how == ChildEnd::How::finished);
  CHECK(end.result == "done");
}

TEST_CASE("a call that does not return is killed and named") {
  const ChildEnd end = run_in_child(
      [] {
        record_call("forward", "step 3");
        for (;;) pause();
        return std::string();
      },
      /*timeout_s=*/0.2);
  CHECK(end.how == ChildEnd::How::timed_out);
  CHECK(end.describe() == "did not end within the time limit in forward (step 3)");
}

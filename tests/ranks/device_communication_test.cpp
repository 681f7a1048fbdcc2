// Collectives of devices that never complete, with a backend that replaces NCCL.
#include <csignal>
#include <stdexcept>
#include <thread>

#include "framework/distributed/collectives/process_group.h"
#include "tests/doctest_with_torch.h"
#include "tests/ranks/one_rank_backend.h"
#include "tests/ranks/run_ranks.h"

using namespace tenon::distributed;
using namespace std::chrono_literals;

namespace {

using Record = OneRankBackend::Record;

constexpr double kNoTimeout = 600;

// Runs the function on each of two ranks and returns the results.
std::vector<std::string> on_two_ranks(
    const std::function<std::string(ProcessGroup&, const std::shared_ptr<Record>&)>& body,
    double timeout_s = kNoTimeout) {
  return run_ranks(2, [&](const World& world) {
    tenon::config::DistributedSection plan;
    plan.timeout_s = timeout_s;
    const auto record = std::make_shared<Record>();
    std::string text;
    {
      ProcessGroup group(
          world, plan, [] { return std::string("in the test"); },
          [&record](const auto&, int rank, int size, std::chrono::milliseconds) {
            return c10::make_intrusive<OneRankBackend>(rank, size, record);
          });
      try {
        text = body(group, record);
      } catch (const std::exception& error) {
        group.report_failure(error.what());
        throw;
      }
      group.barrier();
    }
    return text + std::to_string(record->shutdowns.load());
  });
}

bool never() { return false; }

[[noreturn]] void hang() {
  for (;;) std::this_thread::sleep_for(1h);
}

}  // namespace

TEST_CASE("a wait for the device ends when its work is done, and communicators are closed once") {
  const auto texts = on_two_ranks([](ProcessGroup& group, const auto&) {
    int polls = 0;
    group.wait_until([&polls] { return ++polls == 300; });
    return "polls: " + std::to_string(polls) + ", shutdowns: ";
  });
  for (const std::string& text : texts) CHECK(text == "polls: 300, shutdowns: 1");
}

TEST_CASE("a wait for the device ends with the error of another rank") {
  const auto texts = on_two_ranks([](ProcessGroup& group, const auto&) -> std::string {
    if (group.rank() == 1) throw std::runtime_error("the disk is full");
    group.wait_until(never);
    return "";
  });
  CHECK(texts[0] == "threw: rank 1 has failed: the disk is full");
}

TEST_CASE("an error of the device is passed on by a wait for it") {
  const auto texts = on_two_ranks([](ProcessGroup& group, const auto&) -> std::string {
    group.wait_until([]() -> bool { throw std::runtime_error("CUDA error: unspecified launch failure"); });
    return "";
  });
  bool is_found = false;
  for (const std::string& text : texts) is_found |= text == "threw: CUDA error: unspecified launch failure";
  CHECK(is_found);
}

TEST_CASE("a wait for the device that exceeds the time limit reports the activity of the missing rank") {
  const auto texts = on_two_ranks(
      [](ProcessGroup& group, const auto&) -> std::string {
        if (group.rank() == 1) hang();
        group.wait_until(never);
        return "";
      },
      /*timeout_s=*/5);
  CAPTURE(texts[0]);
  CHECK(texts[0].find("threw: timed out waiting for other ranks: rank 1 is in the test") == 0);
  CHECK(texts[1] == "ended: exit code 6");
}

TEST_CASE("an error of the communication ends a wait for the device and names the killed rank") {
  const auto texts = on_two_ranks([](ProcessGroup& group, const auto& record) -> std::string {
    group.barrier();  // both have connected
    if (group.rank() == 1) raise(SIGKILL);
    record->error = c10d::ErrorType::REMOTE_ERROR;
    group.wait_until(never);
    return "";
  });
  CAPTURE(texts[0]);
  CHECK(texts[0] ==
        "threw: communication with another rank failed (NCCL lost the connection to another rank); rank 1 has exited "
        "without an error message");
}

TEST_CASE("an error of the communication ends a process that is blocked in a call of the device") {
  const auto texts = on_two_ranks([](ProcessGroup& group, const auto& record) -> std::string {
    group.barrier();  // both have connected
    if (group.rank() == 1) raise(SIGKILL);
    record->error = c10d::ErrorType::TIMEOUT;
    hang();
  });
  CHECK(texts[0] == "ended: exit code 6");
}

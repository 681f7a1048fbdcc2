#include "framework/distributed/collectives/process_group.h"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>
#include <sstream>
#include <thread>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>
#include <type_traits>

#include "framework/distributed/launch/failure_monitor.h"
#include "framework/distributed/launch/process_state.h"
#include "tests/doctest_with_torch.h"
#include "tests/ranks/run_ranks.h"

namespace process_group_test {

using namespace tenon::distributed;

namespace {

tenon::config::DistributedSection plan_with(double timeout_s = 60) {
  tenon::config::DistributedSection plan;
  plan.timeout_s = timeout_s;
  return plan;
}

std::string list_elements(const at::Tensor& tensor) {
  std::ostringstream text;
  const at::Tensor flat = tensor.reshape({-1}).to(at::kDouble);
  for (int64_t i = 0; i < flat.numel(); ++i) text << (i > 0 ? " " : "") << flat[i].item<double>();
  return text.str();
}

// Runs the function on each of `size` ranks and returns the results; "completed" for a function without one.
template <class Body>
std::vector<std::string> in_group(int64_t size, double timeout_s, const Body& body) {
  return run_ranks(size, [&](const World& world) {
    ProcessGroup group(world, plan_with(timeout_s), [] { return std::string("in the test"); });
    std::string text = "completed";
    try {
      if constexpr (std::is_void_v<decltype(body(group))>)
        body(group);
      else
        text = body(group);
    } catch (const std::exception& error) {
      group.report_failure(error.what());
      throw;
    }
    group.barrier();
    return text;
  });
}
template <class Body>
std::vector<std::string> in_group(int64_t size, const Body& body) {
  return in_group(size, 60, body);
}

}  // namespace

TEST_CASE("a reduction gives the same result on every rank") {
  for (const int64_t size : {2, 3, 4}) {
    CAPTURE(size);
    const auto reduce = [&](Reduction reduction) {
      return in_group(size, [reduction](ProcessGroup& group) {
        at::Tensor tensor = at::tensor({1.0, static_cast<double>(group.rank())});
        group.reduce(reduction, tensor);
        return list_elements(tensor);
      });
    };
    const auto n = static_cast<size_t>(size);
    CHECK(reduce(Reduction::sum) == all(n, std::to_string(size) + " " + std::to_string(size * (size - 1) / 2)));
    CHECK(reduce(Reduction::maximum) == all(n, "1 " + std::to_string(size - 1)));
    CHECK(reduce(Reduction::minimum) == all(n, "1 0"));
  }
}

TEST_CASE("rows of unequal counts are concatenated in the order of the ranks") {
  // Rank r has r rows, so rank 0 has none.
  const auto texts = in_group(3, [](ProcessGroup& group) {
    const at::Tensor rows = at::full({group.rank(), 2}, group.rank(), at::kLong);
    return list_elements(group.concatenate(rows));
  });
  CHECK(texts == all(3, "1 1 2 2 2 2"));
}

TEST_CASE("a broadcast sends tensors of several dtypes from rank 0") {
  const auto texts = in_group(2, [](ProcessGroup& group) {
    const at::Tensor means = at::full({3}, 0.5 + static_cast<double>(group.rank()), at::kFloat);
    const at::Tensor counter = at::full({}, 7 + group.rank(), at::kLong);
    const at::Tensor flags = at::full({3}, group.rank() == 0, at::kBool);
    auto pending = group.start_broadcast({flags, means, counter});
    means.add_(10);  // this does not change the message
    pending.wait();
    return list_elements(means) + " " + list_elements(counter) + " " + list_elements(flags);
  });
  CHECK(texts[0] == "10.5 10.5 10.5 7 1 1 1");
  CHECK(texts[1] == "0.5 0.5 0.5 7 1 1 1");
}

TEST_CASE("texts that differ from rank 0 are refused on all ranks with the first difference") {
  const auto texts = in_group(3, [](ProcessGroup& group) {
    group.require_equal("the plan", "lr = 0.1\nseed = " + std::to_string(group.rank() == 2 ? 5 : 4) + "\n");
  });
  for (const std::string& text : texts)
    CHECK(text.find("threw: the plan of rank 2 has \"seed = 5\" where rank 0 has \"seed = 4\"") == 0);
}

TEST_CASE("a tensor that differs in one bit is found on all ranks") {
  const auto find = [](int64_t changed) {
    return in_group(2, [changed](ProcessGroup& group) {
      std::vector<at::Tensor> tensors{at::ones({4}), at::ones({2, 2}, at::kBFloat16), at::ones({3}, at::kBool)};
      if (group.rank() == 1 && changed == 0) tensors[0][3] = std::nextafter(1.0F, 2.0F);
      if (group.rank() == 1 && changed == 1) tensors[1][1][1] = 1.0078125;
      if (group.rank() == 1 && changed == 2) tensors[2][0] = false;
      const auto unequal = group.find_unequal(tensors);
      return unequal ? std::to_string(*unequal) : "none";
    });
  };
  CHECK(find(-1) == all(2, "none"));
  CHECK(find(0) == all(2, "0"));
  CHECK(find(1) == all(2, "1"));
  CHECK(find(2) == all(2, "2"));
}

TEST_CASE("the error of one rank is thrown on the others") {
  for (const int64_t failing : {0, 2}) {
    CAPTURE(failing);
    const auto texts = in_group(3, [failing](ProcessGroup& group) {
      if (group.rank() == failing) throw std::runtime_error("the disk is full");
      group.barrier();
    });
    for (int64_t rank = 0; rank < 3; ++rank) {
      CAPTURE(rank);
      const std::string& text = texts[static_cast<size_t>(rank)];
      CHECK(text == (rank == failing ? "threw: the disk is full"
                                     : "threw: rank " + std::to_string(failing) + " has failed: the disk is full"));
    }
  }
}

TEST_CASE("a killed rank is reported as ended") {
  const auto texts = in_group(3, [](ProcessGroup& group) {
    if (group.rank() == 1) raise(SIGKILL);
    group.barrier();
  });
  CHECK(texts[1] == "ended: signal 9");
  for (const size_t rank : {0, 2})
    CHECK(texts[rank].find("rank 1 has exited without an error message") != std::string::npos);
}

TEST_CASE("the others report the activity of a missing rank, and it is killed") {
  const auto texts = in_group(3, /*timeout_s=*/15, [](ProcessGroup& group) {
    if (group.rank() == 1) std::this_thread::sleep_for(std::chrono::hours(1));
    group.barrier();
  });
  CHECK(texts[1] == "ended: exit code 6");
  CAPTURE(texts[0]);
  CAPTURE(texts[2]);
  for (const size_t rank : {0, 2}) CHECK(texts[rank].find("rank 1 is in the test") != std::string::npos);
}

// SIGSTOP has the effect of a debugger. Rank 0 serves the store, which then no longer answers.
TEST_CASE("the others report a stopped rank") {
  for (const int64_t stopped : {0, 1}) {
    CAPTURE(stopped);
    const auto texts = in_group(3, /*timeout_s=*/5, [stopped](ProcessGroup& group) {
      group.barrier();  // from now on no rank waits for the store
      if (group.rank() == stopped) raise(SIGSTOP);
      group.barrier();
    });
    CHECK(texts[static_cast<size_t>(stopped)] == "ended: signal 9");
    const std::string expected = "rank " + std::to_string(stopped) + " does not answer; it is stopped (state T)";
    CAPTURE(texts[2]);
    CHECK(texts[2].find("threw: ") == 0);
    CHECK(texts[2].find(expected) != std::string::npos);
    CAPTURE(texts[1]);
    if (stopped == 0) CHECK(texts[1].find(expected) != std::string::npos);
    CAPTURE(texts[0]);
    if (stopped == 1) CHECK(texts[0].find(expected) != std::string::npos);
  }
}

TEST_CASE("a rank ends although it waits for the store of a stopped rank 0, or computes") {
  const auto texts = in_group(3, /*timeout_s=*/1, [](ProcessGroup& group) {
    if (group.rank() == 0) raise(SIGSTOP);
    if (group.rank() == 1) group.rank0_first([] {});
    if (group.rank() == 2) std::this_thread::sleep_for(std::chrono::hours(1));
  });
  CHECK(texts[1] == "ended: exit code 6");
  CHECK(texts[2] == "ended: exit code 6");
}

TEST_CASE("a rank that is ahead of rank 0 does not get the text of an earlier call") {
  const auto texts = in_group(2, [](ProcessGroup& group) {
    const std::string first = group.broadcast_string("name", "first");
    // Rank 1 requests the second text before it exists.
    if (group.rank() == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
    return first + " " + group.broadcast_string("name", "second");
  });
  CHECK(texts == all(2, "first second"));
}

TEST_CASE("a rank that is stopped for less than the time limit does not end the run") {
  const auto texts = in_group(2, [](ProcessGroup& group) {
    const int64_t process = std::stoll(group.broadcast_string("process", std::to_string(getpid())));
    group.barrier();  // from now on rank 1 does not wait for the store
    if (group.rank() == 0) raise(SIGSTOP);
    if (group.rank() == 1) {
      while (!is_stopped(read_process_state(static_cast<pid_t>(process)))) std::this_thread::yield();
      kill(static_cast<pid_t>(process), SIGCONT);
    }
    group.barrier();
  });
  CHECK(texts == all(2, "completed"));
}

TEST_CASE("a call of a plugin that takes longer than the time limit ends the run, even if all ranks are in one") {
  const auto texts = run_ranks(2, [](const World& world) {
    ProcessGroup group(world, plan_with(1), nullptr, {}, [](std::chrono::milliseconds longer_than, bool) {
      return "in a call for more than " + std::to_string(longer_than.count()) + " ms";
    });
    std::this_thread::sleep_for(std::chrono::hours(1));
    return std::string("completed");
  });
  CHECK(texts == all(2, "ended: exit code 6"));
}

TEST_CASE("the work of rank 0 for all may take longer than the time limit") {
  const auto texts = in_group(3, /*timeout_s=*/1, [](ProcessGroup& group) {
    group.rank0_first([] { std::this_thread::sleep_for(std::chrono::milliseconds(2500)); });
  });
  CHECK(texts == all(3, "completed"));
}

TEST_CASE("a barrier without limit waits longer than the time limit, and not for a rank that has failed") {
  const auto texts = in_group(3, /*timeout_s=*/1, [](ProcessGroup& group) {
    if (group.rank() == 2) std::this_thread::sleep_for(std::chrono::milliseconds(2500));
    group.barrier_without_limit();
    group.barrier_without_limit();
  });
  CHECK(texts == all(3, "completed"));
  const auto failed = in_group(2, [](ProcessGroup& group) {
    if (group.rank() == 1) throw std::runtime_error("the disk is full");
    group.barrier_without_limit();
  });
  CHECK(failed[0] == "threw: rank 1 has failed: the disk is full");
}

TEST_CASE("the work of rank 0 for all may fail, and rank 0 may not reach it") {
  const auto failed =
      in_group(3, [](ProcessGroup& group) { group.rank0_first([] { throw std::runtime_error("the disk is full"); }); });
  CHECK(failed[0] == "threw: the disk is full");
  for (const size_t rank : {1, 2}) CHECK(failed[rank] == "threw: rank 0 has failed: the disk is full");
  const auto killed = in_group(2, [](ProcessGroup& group) { group.rank0_first([] { raise(SIGKILL); }); });
  CHECK(killed[1].find("has exited without an error message") != std::string::npos);
  const auto missed = in_group(2, /*timeout_s=*/5, [](ProcessGroup& group) {
    if (group.rank() == 0) std::this_thread::sleep_for(std::chrono::hours(1));
    group.rank0_first([] {});
  });
  CAPTURE(missed[1]);
  CHECK(missed[0] == "ended: exit code 6");
  CHECK(missed[1].find("rank 0 is in the test") != std::string::npos);
}

// As on a busy machine.
TEST_CASE("the reply of a rank that runs is waited for") {
  const auto texts = run_ranks(2, [](const World& world) {
    ProcessGroup group(world, plan_with(8), [&world] {
      if (world.rank == 0) std::this_thread::sleep_for(2 * FailureMonitor::kCauseTimeout);
      return std::string("in the test");
    });
    if (world.rank == 0) std::this_thread::sleep_for(std::chrono::hours(1));
    try {
      group.rank0_first([] {});
    } catch (const std::exception& error) {
      group.report_failure(error.what());
      throw;
    }
    return std::string("completed");
  });
  CAPTURE(texts[1]);
  CHECK(texts[1].find("rank 0 is in the test") != std::string::npos);
}

namespace {

// The store of a launcher, in a separate process: the ranks are forked, and must not have its threads.
class LauncherStore {
 public:
  LauncherStore() {
    int ends[2];
    REQUIRE(pipe(ends) == 0);
    process_ = fork();
    if (process_ == 0) serve(ends[1]);
    close(ends[1]);
    REQUIRE(read(ends[0], &port_, sizeof port_) == sizeof port_);
    close(ends[0]);
  }
  ~LauncherStore() {
    kill(process_, SIGKILL);
    waitpid(process_, nullptr, 0);
  }
  LauncherStore(const LauncherStore&) = delete;
  LauncherStore& operator=(const LauncherStore&) = delete;

  uint16_t port() const { return port_; }

 private:
  [[noreturn]] static void serve(int pipe_end) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    c10d::TCPStoreOptions options;
    options.port = 0;
    options.isServer = true;
    options.waitWorkers = false;
    const auto store = c10::make_intrusive<c10d::TCPStore>("127.0.0.1", options);
    const uint16_t port = store->getPort();
    if (write(pipe_end, &port, sizeof port) != sizeof port) _exit(1);
    for (;;) pause();
  }

  pid_t process_ = -1;
  uint16_t port_ = 0;
};

}  // namespace

// torchrun starts all ranks again in another number when machines join or leave, without counting it as a restart.
TEST_CASE("ranks that a launcher with a store starts again do not find the keys of earlier ones") {
  const LauncherStore store;
  for (const int64_t size : {2, 3, 2, 4, 2}) {
    CAPTURE(size);
    const auto texts = run_ranks(size, [&](World world) {
      world.store_is_launchers = true;
      world.master_port = store.port();
      world.listen_fd = -1;
      // The first one, so that others find the list of the earlier ranks.
      if (world.rank == 0) std::this_thread::sleep_for(std::chrono::milliseconds(100));
      ProcessGroup group(world, tenon::config::DistributedSection{}, nullptr);
      const std::string text = group.broadcast_string("a text", "of " + std::to_string(size));
      const at::Tensor sum = at::ones({1}, at::kLong);
      group.reduce(Reduction::sum, sum);
      group.barrier();
      return text + " " + std::to_string(sum.item<int64_t>());
    });
    for (const std::string& text : texts) CHECK(text == "of " + std::to_string(size) + " " + std::to_string(size));
  }
}

TEST_CASE("a port in use is named") {
  const auto texts = run_ranks(1, [](const World& initial) {
    World world = initial;  // rank 0 of two; the inherited descriptor already listens on its port
    world.size = world.local_size = 2;
    world.listen_fd = -1;
    ProcessGroup group(world, plan_with(1), nullptr);
    return std::string("completed");
  });
  CHECK(texts[0].find("threw: distributed: cannot listen on port ") == 0);
  CHECK(texts[0].find("Address already in use") != std::string::npos);
}

TEST_CASE("a store that does not respond fails within the time limit") {
  const auto texts = run_ranks(1, [](const World&) {
    World world;
    world.rank = world.local_rank = 1;
    world.size = world.local_size = 2;
    world.master_address = "127.0.0.1";
    world.master_port = 1;
    ProcessGroup group(world, plan_with(1), nullptr);
    return std::string("completed");
  });
  CHECK(texts[0].find("threw: distributed: rank 1 cannot reach the store of rank 0 at 127.0.0.1:1 within 1 s") == 0);
}

TEST_CASE("ranks on several machines need the name of an interface that exists") {
  const auto join = [](const std::string& interface) {
    return run_ranks(1, [&](const World& initial) {
      World world = initial;
      world.size = 2;
      world.listen_fd = -1;
      auto plan = plan_with(1);
      plan.interface = interface;
      ProcessGroup group(world, plan, nullptr);
      return std::string("completed");
    })[0];
  };
  CHECK(join("").find("threw: distributed.interface: is not given") == 0);
  CHECK(join("nowhere0").find("threw: distributed.interface: \"nowhere0\" is not a network interface") == 0);
  CHECK(join("nowhere0").find("lo") != std::string::npos);
}

}  // namespace process_group_test

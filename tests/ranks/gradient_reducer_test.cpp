#include "framework/distributed/collectives/gradient_reducer.h"

#include <algorithm>
#include <chrono>
#include <thread>

#include "tests/allocated_memory.h"
#include "tests/doctest_with_torch.h"
#include "tests/ranks/run_ranks.h"

namespace gradient_reducer_test {

using namespace tenon::distributed;

namespace {

// A network of two layers. A forward may skip the first one.
struct Network {
  at::Tensor first = at::full({4, 4}, 0.5).requires_grad_();
  at::Tensor second = at::full({4}, 0.25).requires_grad_();
  at::Tensor forward(const at::Tensor& input, bool uses_first = true) const {
    return ((uses_first ? at::tanh(at::mv(first, input)) : input) * second).sum();
  }
};

struct Reduced {
  ProcessGroup& group;
  Network& network;
  GradientReducer reducer;
  Reduced(ProcessGroup& with, Network& of, const tenon::config::DistributedSection& plan)
      : group(with), network(of), reducer(with, plan, {"first", "second"}, {of.first, of.second}) {}

  void step(const at::Tensor& input, bool uses_first = true) {
    network.first.mutable_grad() = network.second.mutable_grad() = at::Tensor();
    reducer.prepare_forward();
    const at::Tensor total = network.forward(input, uses_first);
    reducer.expect_backward(total);
    total.backward();
    reducer.finish_backward(nullptr);
  }
};

std::vector<std::string> in_ranks(int64_t size, const tenon::config::DistributedSection& plan,
                                  const std::function<std::string(Reduced&)>& body) {
  return run_in_group(size, plan, [&](ProcessGroup& group) {
    Network network;
    Reduced reduced(group, network, plan);
    return body(reduced);
  });
}

at::Tensor input_of(int64_t rank) { return at::arange(4, at::kFloat) * 0.1 + static_cast<double>(rank); }

// Compares the gradients with the sum of the gradients of each rank's input. Returns "equal" or the difference.
std::string compare_with_sum(const Reduced& reduced, int64_t ranks, double limit) {
  Network alone;
  for (int64_t rank = 0; rank < ranks; ++rank) alone.forward(input_of(rank)).backward();
  const double difference = std::max((alone.first.grad() - reduced.network.first.grad()).abs().max().item<double>(),
                                     (alone.second.grad() - reduced.network.second.grad()).abs().max().item<double>());
  return difference <= limit ? "equal" : std::to_string(difference);
}

}  // namespace

TEST_CASE("gradients are the sum over the ranks in every step") {
  tenon::config::DistributedSection plan;
  const auto run = [&](double limit) {
    return in_ranks(3, plan, [limit](Reduced& reduced) {
      std::string text;
      for (int step = 0; step < 3; ++step) {  // buckets are rebuilt after the first
        reduced.step(input_of(reduced.group.rank()));
        text += compare_with_sum(reduced, 3, limit) + " ";
      }
      return text;
    });
  };
  const std::vector<std::string> equal = all(3, "equal equal equal ");
  CHECK(run(1e-6) == equal);
  plan.static_graph = true;
  CHECK(run(1e-6) == equal);
  plan.static_graph = false;
  plan.find_unused_parameters = true;
  CHECK(run(1e-6) == equal);
  plan.find_unused_parameters = false;
  plan.compression = tenon::config::Compression::fp16;
  CHECK(run(2e-3) == equal);
  plan.compression = tenon::config::Compression::bf16;
  CHECK(run(2e-2) == equal);
  CHECK(run(1e-6) != equal);  // the gradients were rounded
}

TEST_CASE("a rank without a batch contributes zeros and does not block the others") {
  for (const bool finds_unused : {false, true}) {
    tenon::config::DistributedSection plan;
    plan.find_unused_parameters = finds_unused;
    const auto texts = in_ranks(3, plan, [](Reduced& reduced) {
      reduced.step(input_of(reduced.group.rank()));
      reduced.network.first.mutable_grad() = reduced.network.second.mutable_grad() = at::Tensor();
      if (reduced.group.rank() < 2) {
        reduced.step(input_of(reduced.group.rank()));
      } else {
        reduced.reducer.prepare_forward();
        reduced.reducer.reduce_without_backward();
      }
      return compare_with_sum(reduced, 2, 1e-6);
    });
    CHECK(texts == all(3, "equal"));
  }
}

TEST_CASE("gradients of a backward without expect_backward stay on the rank until the next reduction") {
  const auto texts = in_ranks(2, {}, [](Reduced& reduced) {
    reduced.network.forward(input_of(reduced.group.rank())).backward();
    reduced.reducer.prepare_forward();
    reduced.reducer.reduce_without_backward();
    return compare_with_sum(reduced, 2, 1e-6);
  });
  CHECK(texts == all(2, "equal"));
}

TEST_CASE("a checkpoint with the buckets needs no memory for gradients") {
  const auto texts = in_ranks(2, {}, [](Reduced& reduced) {
    reduced.step(input_of(reduced.group.rank()));
    reduced.reducer.prepare_forward();
    const auto memory = std::make_shared<tenon::AllocatedMemory>();
    const c10::DebugInfoGuard guard(c10::DebugInfoKind::PROFILER_STATE, memory);
    const size_t buckets = reduced.reducer.buckets().size();
    return std::to_string(buckets) + " bucket, " + std::to_string(memory->peak) + " bytes";
  });
  for (const std::string& text : texts) CHECK(text == "1 bucket, 0 bytes");
}

TEST_CASE("no bucket is kept by the sums of a backward that has ended") {
  const auto texts = in_ranks(2, {}, [](Reduced& reduced) {
    reduced.step(input_of(reduced.group.rank()));
    const auto bucket = reduced.network.first.grad().storage().getWeakStorageImpl();
    reduced.network.first.mutable_grad() = reduced.network.second.mutable_grad() = at::Tensor();
    reduced.reducer.prepare_forward();  // replaces the first bucket
    // The thread that has summed it may release it a little later.
    for (int i = 0; i < 1000 && !bucket.expired(); ++i) std::this_thread::sleep_for(std::chrono::milliseconds(10));
    return std::string(bucket.expired() ? "released" : "kept");
  });
  for (const std::string& text : texts) CHECK(text == "released");
}

TEST_CASE("an unused parameter is named, unless find_unused_parameters is set") {
  const auto run = [](const tenon::config::DistributedSection& plan) {
    return in_ranks(2, plan, [](Reduced& reduced) {
      reduced.step(input_of(reduced.group.rank()), /*uses_first=*/false);
      return std::string(reduced.network.first.grad().defined() ? "given" : "none");
    });
  };
  for (const std::string& text : run({}))
    CHECK(text.find("threw: distributed: first did not contribute to the losses of a step") == 0);
  tenon::config::DistributedSection plan;
  plan.find_unused_parameters = true;
  CHECK(run(plan) == all(2, "none"));
}

}  // namespace gradient_reducer_test

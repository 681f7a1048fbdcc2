#include "framework/distributed/collectives/owner_reducer.h"

#include <torch/csrc/autograd/custom_function.h>

#include "tests/doctest_with_torch.h"
#include "tests/ranks/run_ranks.h"

namespace owner_reducer_test {

using namespace tenon::distributed;
using tenon::config::DistributedSection;

namespace {

// A chain of layers of different sizes. Owners take turns.
struct Network {
  static constexpr int64_t kLayers = 5;
  std::vector<at::Tensor> weights;
  std::vector<std::string> names;
  Network() {
    for (int64_t i = 0; i < kLayers; ++i) {
      weights.push_back(at::full({4 + i, 4}, 0.1 * static_cast<double>(i + 1)).requires_grad_());
      names.push_back("layer" + std::to_string(i));
    }
  }
  std::vector<int64_t> owners(int64_t ranks) const {
    std::vector<int64_t> owners;
    for (int64_t i = 0; i < kLayers; ++i) owners.push_back(i % ranks);
    return owners;
  }
  // `unused`: a layer that is skipped; -1: none.
  at::Tensor forward(const at::Tensor& input, int64_t unused = -1) const {
    at::Tensor hidden = input;
    for (int64_t i = 0; i < kLayers; ++i)
      if (i != unused) hidden = at::tanh(at::mv(weights[static_cast<size_t>(i)], hidden)).narrow(0, i % 2, 4);
    return hidden.sum();
  }
};

at::Tensor input_of(int64_t rank, int64_t batch) {
  return at::arange(4, at::kFloat) * 0.1 + static_cast<double>(rank + 3 * batch);
}

struct Reduced {
  ProcessGroup& group;
  Network network;
  OwnerReducer reducer;
  Reduced(ProcessGroup& with, const DistributedSection& plan)
      : group(with), reducer(with, plan, network.names, network.weights, network.owners(with.size())) {}

  void run_batch(int64_t batch, int64_t unused = -1) {
    const at::Tensor total = network.forward(input_of(group.rank(), batch), unused);
    reducer.expect_backward(total);
    total.backward();
    reducer.finish_backward(nullptr);
  }

  // Compares with the sum over all ranks and `batches`. Returns "equal", or what is wrong.
  std::string compare(int64_t batches, double limit) const {
    Network alone;
    for (int64_t batch = 0; batch < batches; ++batch)
      for (int64_t rank = 0; rank < group.size(); ++rank) alone.forward(input_of(rank, batch)).backward();
    for (size_t i = 0; i < network.weights.size(); ++i) {
      const at::Tensor& gradient = network.weights[i].grad();
      const bool is_owned = network.owners(group.size())[i] == group.rank();
      if (gradient.defined() != is_owned) return network.names[i] + (is_owned ? " has none" : " is kept");
      if (!is_owned) continue;
      const double difference = (gradient - alone.weights[i].grad()).abs().max().item<double>();
      if (difference > limit) return network.names[i] + " differs by " + std::to_string(difference);
    }
    return "equal";
  }
};

std::vector<std::string> in_ranks(int64_t size, const DistributedSection& plan,
                                  const std::function<std::string(Reduced&)>& body) {
  return run_in_group(size, plan, [&](ProcessGroup& group) {
    Reduced reduced(group, plan);
    return body(reduced);
  });
}

// Several buckets, of one parameter each or of several.
DistributedSection plan_with(double bucket_mib, tenon::config::Backend backend) {
  DistributedSection plan;
  plan.bucket_mib = plan.first_bucket_mib = bucket_mib;
  plan.backend = backend;
  return plan;
}

const std::vector<DistributedSection> kPlans{
    plan_with(25, tenon::config::Backend::automatic), plan_with(1e-6, tenon::config::Backend::automatic),
    plan_with(1.5e-4, tenon::config::Backend::automatic), plan_with(1e-6, tenon::config::Backend::gloo),
    plan_with(25, tenon::config::Backend::gloo)};

}  // namespace

TEST_CASE("only its owner has the sum of a gradient, over all ranks and backwards") {
  for (const DistributedSection& plan : kPlans) {
    const auto texts = in_ranks(3, plan, [](Reduced& reduced) {
      std::string text;
      for (int64_t step = 0; step < 2; ++step) {
        for (const at::Tensor& weight : reduced.network.weights) at::Tensor(weight).mutable_grad().reset();
        for (int64_t batch = 0; batch < 2; ++batch) {
          reduced.run_batch(batch);
          text += reduced.compare(batch + 1, 1e-6) + " ";
        }
        reduced.reducer.finish_step(/*keeps_separate=*/false);
      }
      return text;
    });
    CHECK(texts == all(3, "equal equal equal equal "));
  }
}

TEST_CASE("divided gradients are compressed like undivided ones") {
  for (DistributedSection plan : {kPlans[0], kPlans[3]}) {
    for (const auto& [compression, limit] :
         {std::pair{tenon::config::Compression::fp16, 4e-3}, {tenon::config::Compression::bf16, 4e-2}}) {
      plan.compression = compression;
      const auto run = [&plan](double allowed) {
        return in_ranks(2, plan, [allowed](Reduced& reduced) {
          reduced.run_batch(0);
          return reduced.compare(1, allowed);
        });
      };
      CHECK(run(limit) == all(2, "equal"));
      CHECK(run(1e-7) != all(2, "equal"));  // the gradients were rounded
    }
  }
}

TEST_CASE("a rank without a batch adds zeros to the gradients of the owners") {
  for (const DistributedSection& plan : kPlans) {
    const auto texts = in_ranks(2, plan, [](Reduced& reduced) {
      if (reduced.group.rank() == 0)
        reduced.run_batch(0);
      else
        reduced.reducer.reduce_without_backward();
      reduced.reducer.finish_step(/*keeps_separate=*/false);
      Network alone;
      alone.forward(input_of(0, 0)).backward();
      std::string text;
      for (size_t i = 0; i < alone.weights.size(); ++i) {
        const at::Tensor& gradient = reduced.network.weights[i].grad();
        if (gradient.defined()) text += gradient.equal(alone.weights[i].grad()) ? "=" : "!";
      }
      return text;
    });
    CHECK(texts == std::vector<std::string>{"===", "=="});
  }
}

TEST_CASE("an unused parameter is named with divided gradients, unless find_unused_parameters is set") {
  const auto run = [](const DistributedSection& plan, bool expects_all) {
    return in_ranks(2, plan, [expects_all](Reduced& reduced) {
      reduced.run_batch(0, /*unused=*/2);
      reduced.reducer.finish_step(!expects_all);
      std::string text;
      for (const at::Tensor& weight : reduced.network.weights) text += weight.grad().defined() ? "1" : "0";
      return text;
    });
  };
  for (const std::string& text : run({}, true))
    CHECK(text.find("threw: distributed: layer2 did not contribute to the losses of a step") == 0);
  CHECK(run({}, false) == std::vector<std::string>{"10101", "01010"});
  DistributedSection plan;
  plan.find_unused_parameters = true;
  CHECK(run(plan, true) == std::vector<std::string>{"10001", "01010"});
}

TEST_CASE("a gradient that backward computes twice is refused, because the first one is already sent") {
  // Runs a second backward over the weight, as plugins can do in a gradient function.
  struct Nested : torch::autograd::Function<Nested> {
    static at::Tensor forward(torch::autograd::AutogradContext* context, const at::Tensor& input,
                              const at::Tensor& weight) {
      context->save_for_backward({weight});
      return input.clone();
    }
    static torch::autograd::variable_list backward(torch::autograd::AutogradContext* context,
                                                   torch::autograd::variable_list gradients) {
      const at::AutoGradMode with_gradients(true);
      context->get_saved_variables()[0].mul(2).sum().backward();
      return {gradients[0], at::Tensor()};
    }
  };
  const auto texts = in_ranks(2, kPlans[1], [](Reduced& reduced) {
    const at::Tensor& last = reduced.network.weights.back();
    const at::Tensor total = Nested::apply(reduced.network.forward(input_of(0, 0)).reshape({1}), last).sum();
    reduced.reducer.expect_backward(total);
    total.backward();
    return std::string("not refused");
  });
  for (const std::string& text : texts) {
    CHECK(text.find("threw: distributed.shard: backward computed the gradient of layer4 more than once") == 0);
  }
}

}  // namespace owner_reducer_test

// Fields of varying size between the loader and a component's inputs.
#include "framework/components/tensors/tensor_handles.h"
#include "framework/pipeline/build/connections.h"
#include "tests/doctest_with_torch.h"
#include "tests/messages.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;
using tenon::support::ErrorKind;

namespace {

// Sentences with i % 4 tokens in sample i, padded with -1, two per batch, and the input `tokens` of a component.
struct Sentences {
  explicit Sentences(const std::string& port_shape)
      : plan(plan_of(*run.plan)),
        data({run.catalogue->find(tenon::config::ComponentKind::dataset, plan.data.train.use), plan.data.train}, plan,
             plan.data.train, {}, c10::Device(c10::kCPU)),
        wiring(connect({{"tokens", tenon::components::parse_shape(port_shape), TENON_DTYPE_BIT(TENON_INT64), ""}},
                       "the loss", {"odd_loss", {}, {}, "run.toml:3:1"}, run.training->model,
                       data.transforms.fields())) {
    data.feed.loader().start({1, 2, 3, 4, 0, 8}, 1);
  }

  at::Tensor next_input() {
    return wiring.gather(data.to_batch_tensors(*data.feed.loader().next(), true)).at(0).clone();
  }

  static tenon::config::RunPlan plan_of(tenon::config::RunPlan plan) {
    plan.data.batch_size = 2;
    plan.data.train = {{"sentences", {{"padding", -1.0}, {"bytes", false}}, {}, ""}, "train"};
    return plan;
  }

  const BuiltRun run{{}};
  const tenon::config::RunPlan plan;
  BoundDataset data;
  Wiring wiring;
};

}  // namespace

TEST_CASE("a field of varying size reaches an input as one padded tensor, as wide as its batch") {
  Sentences sentences("N,T");
  CHECK(torch::equal(sentences.next_input(), torch::tensor({{2, -1}, {3, 3}}, torch::kInt64)));
  CHECK(torch::equal(sentences.next_input(), torch::tensor({{4, 4, 4}, {-1, -1, -1}}, torch::kInt64)));
  const at::Tensor empty = sentences.next_input();
  CHECK(empty.sizes() == at::IntArrayRef{2, 0});
}

TEST_CASE("an input that depends on the batch's shape is checked with every batch") {
  Sentences sentences("N,N");
  CHECK(sentences.next_input().sizes() == at::IntArrayRef{2, 2});
  CHECK(tenon::find_error(ErrorKind::plugin, [&] {
          sentences.next_input();
        }).starts_with("the loss: the input tokens: int64 [N, N] received"));
}

TEST_CASE("a field of varying size does not fit an input with another ndim") {
  const std::string message = tenon::find_error(ErrorKind::configuration, [] { Sentences sentences("N,3,W"); });
  CHECK(message.find("data.tokens: int64 [N, ?]") != std::string::npos);
  CHECK(message.find("expected [N, 3, W]") != std::string::npos);
}

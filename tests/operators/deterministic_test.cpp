// Compares the deterministic compositions with LibTorch's operators on the CPU. All values are multiples of 1/8 and
// small, so sums are exact in any order, and results must be equal.
#include "framework/operators/replaced_operators.h"

#include <ATen/Context.h>
#include <torch/torch.h>

#include <optional>
#include <vector>

#include "tests/doctest_with_torch.h"

namespace deterministic_test {

namespace {

using at::Tensor;

struct Deterministic {
  Deterministic() { at::globalContext().setDeterministicAlgorithms(true, false); }
  ~Deterministic() { at::globalContext().setDeterministicAlgorithms(false, false); }
};

Tensor draw(at::IntArrayRef size) { return (at::randint(-16, 16, size, at::kFloat) / 8).requires_grad_(); }

// Compares results and gradients.
template <class First, class Second>
void check_equal(const Tensor& input, const First& first, const Second& second) {
  const Tensor expected = first(input), found = second(input);
  CHECK(found.equal(expected));
  const Tensor gradient = at::randint(-4, 4, expected.sizes(), at::kFloat);
  CHECK(torch::autograd::grad({found}, {input}, {gradient})[0].equal(
      torch::autograd::grad({expected}, {input}, {gradient})[0]));
}

}  // namespace

TEST_CASE("pooling to windows of equal size is the same with deterministic algorithms") {
  const Deterministic deterministic;
  struct Case {
    std::vector<int64_t> input, size;
    bool composes;
  };
  for (const Case& c : std::vector<Case>{{{2, 3, 8, 8}, {2, 2}, true},
                                         {{2, 3, 8, 4}, {2, 4}, true},
                                         {{3, 8, 8}, {4, 2}, true},
                                         {{2, 3, 8, 8}, {1, 1}, true},
                                         {{1, 2, 7, 8}, {2, 2}, false},
                                         {{1, 2, 2, 2}, {4, 4}, false}}) {
    CAPTURE(c.input);
    const auto size = c10::fromIntArrayRefSlow(c.size);
    check_equal(
        draw(c.input), [&](const Tensor& x) { return at::adaptive_avg_pool2d(x, c.size); },
        [&](const Tensor& x) {
          const Tensor y = tenon::operators::adaptive_avg_pool2d(x, size);
          CHECK((y.grad_fn()->name() == "MeanBackward1") == c.composes);
          return y;
        });
  }
}

TEST_CASE("the loss of dense targets is the same with deterministic algorithms") {
  const Deterministic deterministic;
  constexpr int64_t kClasses = 4, kIgnored = 3;
  const Tensor weight = at::tensor({0.5F, 1.0F, 2.0F, 4.0F});
  for (const std::vector<int64_t>& shape :
       {std::vector<int64_t>{2, kClasses, 3, 5}, {2, kClasses, 6}, {3, kClasses, 2, 2, 2}})
    for (const int64_t reduction : {at::Reduction::None, at::Reduction::Mean, at::Reduction::Sum})
      for (const int64_t ignored : {int64_t{-100}, kIgnored})
        for (const bool has_weight : {false, true}) {
          CAPTURE(shape);
          CAPTURE(reduction);
          CAPTURE(ignored);
          CAPTURE(has_weight);
          std::vector<int64_t> target_shape = shape;
          target_shape.erase(target_shape.begin() + 1);
          Tensor target = at::randint(0, kClasses, target_shape, at::kLong);
          if (ignored < 0) target.view(-1)[0] = ignored;
          const std::optional<Tensor> weights = has_weight ? std::optional(weight) : std::nullopt;
          check_equal(
              draw(shape), [&](const Tensor& x) { return at::nll_loss_nd(x, target, weights, reduction, ignored); },
              [&](const Tensor& x) {
                const Tensor y = tenon::operators::nll_loss_nd(x, target, weights, reduction, ignored);
                CHECK(y.grad_fn()->name() != "NllLoss2DBackward0");
                return y;
              });
        }
}

}  // namespace deterministic_test

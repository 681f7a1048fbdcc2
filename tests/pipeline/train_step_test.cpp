#include "framework/pipeline/loop/train_step.h"

#include <vector>

#include "framework/support/diagnostics/error.h"
#include "tests/doctest_with_torch.h"
#include "tests/pipeline/trained_run.h"

using namespace tenon::pipeline;

namespace {

const std::string kIgnoring =
    "[[loss]]\nuse = \"cross_entropy\"\nname = \"without_threes\"\nweight = 0.5\nparams = { ignore_index = 3 }\n";
const std::string kTwoParts = "[[loss]]\nuse = \"two_parts\"\nweight = 0.25\n";

// The gradient of the first 32 digits in one step with batches of these sizes, measured as the change by sgd with rate
// 1.
std::vector<at::Tensor> gradient_of(const std::vector<int64_t>& sizes, const std::string& losses = "",
                                    const std::vector<std::string>& overrides = {}) {
  BuiltRun run({join_settings({"data.batch_size=32", "data.shuffle=false", "optimizer={use=\"sgd\",lr=1.0}",
                               "run.deterministic=true", "train.accumulate=" + std::to_string(sizes.size())},
                              overrides),
                losses});
  Training& training = *run.training;
  std::vector<at::Tensor> before;
  for (const auto& named : training.model.tensors()) before.push_back(named.tensor.detach().clone());
  TrainStep step(
      training, [](Event) {}, [](const StepMetrics&) {});
  training.train->feed.start(1);
  tenon::data::Batch batch = *training.train->feed.next();
  for (const int64_t size : sizes) {
    batch.size = size;
    for (auto& field : batch.fields) field.shape[0] = size;
    step.run_batch(batch, {true, 0, 1, 0, 1, 0});
    for (auto& field : batch.fields) {
      const bool is_label = field.shape.size() == 1;
      field.data += size * (is_label ? 8 : 64 * 4);
    }
  }
  step.finish_step({1.0}, false);
  std::vector<at::Tensor> gradients;
  for (size_t i = 0; i < before.size(); ++i)
    gradients.push_back(before[i] - training.model.tensors()[i].tensor.detach());
  return gradients;
}

// The relative rounding error of gradient_of() in single precision with roundoff u. The gradient is read from the
// change of the weights w with a learning rate of 1, so both sides round by u |w|. It consists of sums over 64 pixels,
// 16 hidden values, 10 classes and 32 samples, each term of which rounds once.
double tolerance_of(const std::vector<at::Tensor>& gradients) {
  constexpr double kRoundoff = 0x1p-24;
  const BuiltRun run({{"run.deterministic=true"}});
  double largest = 0;
  for (size_t i = 0; i < gradients.size(); ++i)
    largest = std::max(
        largest, run.training->model.tensors()[i].tensor.norm().item<double>() / gradients[i].norm().item<double>());
  return 2 * kRoundoff * (largest + 64 + 16 + 10 + 32);
}

double relative_difference(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  double largest = 0;
  for (size_t i = 0; i < a.size(); ++i)
    largest = std::max(largest, (a[i] - b[i]).norm().item<double>() / b[i].norm().item<double>());
  return largest;
}

}  // namespace

TEST_CASE("a step has the gradient of one batch, however it is split") {
  const auto whole = gradient_of({32});
  const double tolerance = tolerance_of(whole);
  CHECK(relative_difference(gradient_of({8, 8, 8, 8}), whole) < tolerance);
  CHECK(relative_difference(gradient_of({5, 8, 8, 8, 3}), whole) < tolerance);
  CHECK(relative_difference(gradient_of({31, 1}), whole) < tolerance);
  CHECK(relative_difference(gradient_of({8, 8, 8, 7}), whole) > 10 * tolerance);  // a missing sample would fail
}

TEST_CASE("losses with different items and losses with shared gradients also match one batch") {
  for (const std::string& losses : {kIgnoring, kTwoParts, kIgnoring + kTwoParts}) {
    const auto whole = gradient_of({32}, losses);
    const double tolerance = tolerance_of(whole);
    CHECK(relative_difference(gradient_of({8, 8, 8, 8}, losses), whole) < tolerance);
    CHECK(relative_difference(gradient_of({5, 8, 8, 8, 3}, losses), whole) < tolerance);
    CHECK(relative_difference(gradient_of({8, 8, 8, 7}, losses), whole) > 10 * tolerance);
  }
}

TEST_CASE("a sum over items has the gradient of one batch, also if a part of it, or all of it, has no items") {
  const auto loss = [](int counted) {
    return "[[loss]]\nuse = \"sum_over_class\"\nweight = 0.01\nparams = { counted = " + std::to_string(counted) +
           " }\n";
  };
  for (const std::string& losses : {loss(3), loss(99), kIgnoring + loss(3), kTwoParts + loss(99)}) {
    const auto whole = gradient_of({32}, losses);
    const double tolerance = tolerance_of(whole);
    CHECK(relative_difference(gradient_of({1, 2, 29}, losses), whole) < tolerance);
    CHECK(relative_difference(gradient_of({8, 8, 8, 8}, losses), whole) < tolerance);
    CHECK(relative_difference(gradient_of({8, 8, 8, 7}, losses), whole) > 10 * tolerance);
  }
  // Without items the sum is divided by 1: 99 is no class, and there are 32 samples. The factor makes it their mean.
  const std::string mean = "[[loss]]\nuse = \"cross_entropy\"\nname = \"mean\"\nweight = 0.32\n";
  CHECK(relative_difference(gradient_of({32}, loss(99)), gradient_of({32}, mean)) <
        tolerance_of(gradient_of({32}, mean)));
}

TEST_CASE("a loss scale changes the gradient only by rounding") {
  // In fp16 products are rounded, so results depend on the shapes of the batches. Compare equal shapes.
  const auto plain = gradient_of({8, 8, 8, 8});
  const auto scaled = gradient_of({8, 8, 8, 8}, "", {"train.precision=\"fp16\""});
  CHECK(relative_difference(scaled, plain) < 5e-3);
  CHECK(relative_difference(scaled, plain) > 0);
}

TEST_CASE("clipping by norm and by value matches torch.nn.utils") {
  const auto plain = gradient_of({32});
  double squares = 0;
  for (const at::Tensor& gradient : plain) squares += gradient.square().sum().item<double>();
  const double norm = std::sqrt(squares);
  const auto by_norm = gradient_of({32}, "", {"train.clip_norm=0.25"});
  const auto by_value = gradient_of({32}, "", {"train.clip_value=0.01"});
  for (size_t i = 0; i < plain.size(); ++i) {
    CHECK(torch::allclose(by_norm[i], plain[i] * (0.25 / (norm + 1e-6)), 1e-4, 1e-7));
    CHECK(torch::allclose(by_value[i], plain[i].clamp(-0.01, 0.01), 1e-4, 1e-7));
  }
  CHECK(relative_difference(gradient_of({32}, "", {"train.clip_norm=1e6"}), plain) == 0);
}

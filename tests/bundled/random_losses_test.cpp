// Compares the bundled losses with PyTorch, torchvision and monai on 1,000 random inputs each. Inputs have no, some or
// only ignored targets, and include micro-batches without samples. Compares the loss, its weight, and the sum and a
// random projection of the gradient with respect to the first input. tests/parity/make_losses.py samples the same
// inputs.
#include <cmath>

#include "tests/bundled/opened_components.h"
#include "tests/bundled/random_case.h"
#include "tests/doctest_with_torch.h"

namespace random_losses_test {

using namespace tenon::bundled;
using tenon::config::Values;

namespace {

struct LossCase {
  Values params;
  std::vector<at::Tensor> inputs;
};

constexpr double kSmooth[] = {1e-5, 1.0};

// Returns logits [N, C, ...] and the shape of the target.
std::pair<at::Tensor, std::vector<int64_t>> draw_logits(RandomCase& draw, int64_t classes) {
  const int64_t samples = draw.between(0, 4);
  const std::vector<int64_t> rest = draw.trailing_shape();
  const auto scale = draw.choose<int64_t>({256, 256, 32});
  return {draw.numbers(join({samples, classes}, rest), scale), join({samples}, rest)};
}

// The weights are at least `least` / 4.
void draw_class_weights(RandomCase& draw, int64_t classes, int64_t least, Values& params) {
  if (draw.between(0, 1) == 1) params["class_weights"] = draw.quarters(classes, least, 9);
}

// Returns logits, a class target with some ignored elements, and the parameter ignore_index.
LossCase draw_classes(RandomCase& draw, int64_t classes) {
  auto [logits, shape] = draw_logits(draw, classes);
  const auto ignore_index = draw.choose<int64_t>({-100, 255, 0});
  at::Tensor target = draw.integers(shape, 0, classes);
  draw.ignore(target, ignore_index);
  return {{{"ignore_index", ignore_index}}, {logits, target}};
}

LossCase cross_entropy(RandomCase& draw) {
  const int64_t classes = draw.between(2, 6);
  LossCase made = draw_classes(draw, classes);
  const double smoothing = draw.choose<double>({0, 0.125});
  made.params["label_smoothing"] = smoothing;
  draw_class_weights(draw, classes, smoothing > 0 ? 1 : 0, made.params);
  return made;
}

LossCase sequence_cross_entropy(RandomCase& draw) {
  const int64_t samples = draw.between(0, 4);
  const int64_t length = draw.between(0, 5);
  const int64_t classes = draw.between(2, 6);
  const at::Tensor logits = draw.numbers({samples, length, classes}, 128);
  at::Tensor target = draw.integers({samples, length}, 0, classes);
  draw.ignore(target, -100);
  return {{{"label_smoothing", draw.choose<double>({0, 0.125})}}, {logits, target}};
}

// Returns probabilities along the second dimension. Some are 0.
at::Tensor draw_distribution(RandomCase& draw, const std::vector<int64_t>& shape) {
  const at::Tensor counts = draw.integers(shape, 0, 4).to(torch::kDouble);
  counts.select(1, 0).add_(1);
  return counts / counts.sum(1, true);
}

LossCase soft_cross_entropy(RandomCase& draw) {
  const int64_t samples = draw.between(0, 5);
  const int64_t classes = draw.between(2, 6);
  const at::Tensor logits = draw.numbers({samples, classes}, 128);
  return {{}, {logits, draw_distribution(draw, {samples, classes})}};
}

// Returns classes or probabilities.
at::Tensor draw_binary_target(RandomCase& draw, const std::vector<int64_t>& shape) {
  if (draw.between(0, 1) == 1) return draw.integers(shape, 0, 2);
  return draw.integers(shape, 0, 17).to(torch::kDouble) / 16;
}

LossCase bce_with_logits(RandomCase& draw) {
  const int64_t samples = draw.between(0, 5);
  const std::vector<int64_t> rest = draw.trailing_shape();
  const std::vector<int64_t> shape = join({samples}, rest);
  const auto scale = draw.choose<int64_t>({256, 32});
  const at::Tensor logits = draw.numbers(shape, scale);
  const at::Tensor target = draw_binary_target(draw, shape);
  Values params = {{"positive_weight", draw.choose<double>({1, 2.5})}};
  if (!rest.empty() && draw.between(0, 1) == 1) params["positive_weights"] = draw.quarters(rest[0], 1, 9);
  return {params, {logits, target}};
}

LossCase distance(RandomCase& draw, const std::string& parameter, const std::vector<double>& options) {
  const int64_t samples = draw.between(0, 5);
  const std::vector<int64_t> shape = join({samples}, draw.trailing_shape());
  const at::Tensor prediction = draw.numbers(shape, 256);
  const at::Tensor target = draw.numbers(shape, 256);
  const double option = draw.choose(options);
  return {parameter.empty() ? Values() : Values{{parameter, option}}, {prediction, target}};
}

LossCase without_parameter(RandomCase& draw) { return distance(draw, "", {0}); }
LossCase smooth_l1(RandomCase& draw) { return distance(draw, "beta", {0, 0.5, 1}); }
LossCase huber(RandomCase& draw) { return distance(draw, "delta", {0.5, 1, 2}); }

LossCase dice(RandomCase& draw) {
  const int64_t classes = draw.between(2, 4);
  LossCase made = draw_classes(draw, classes);
  made.params["smooth"] = kSmooth[draw.between(0, 1)];
  made.params["include_background"] = draw.between(0, 1) == 0;
  return made;
}

LossCase binary_dice(RandomCase& draw) {
  const int64_t samples = draw.between(0, 4);
  const std::vector<int64_t> shape = join({samples}, draw.trailing_shape());
  const auto scale = draw.choose<int64_t>({256, 32});
  const at::Tensor logits = draw.numbers(shape, scale);
  at::Tensor target = draw_binary_target(draw, shape);
  draw.ignore(target, -100);
  return {{{"smooth", kSmooth[draw.between(0, 1)]}}, {logits, target}};
}

const std::vector<double> kGammas = {0, 0.5, 1, 2, 3.5};

LossCase focal(RandomCase& draw) {
  const int64_t classes = draw.between(2, 6);
  LossCase made = draw_classes(draw, classes);
  made.params["gamma"] = draw.choose(kGammas);
  draw_class_weights(draw, classes, 0, made.params);
  return made;
}

LossCase binary_focal(RandomCase& draw) {
  const int64_t samples = draw.between(0, 5);
  const std::vector<int64_t> shape = join({samples}, draw.trailing_shape());
  const auto scale = draw.choose<int64_t>({256, 64});
  const at::Tensor logits = draw.numbers(shape, scale);
  const at::Tensor target = draw_binary_target(draw, shape);
  const double gamma = draw.choose(kGammas);
  return {{{"gamma", gamma}, {"alpha", draw.choose<double>({0.25, 0.75, -1})}}, {logits, target}};
}

LossCase kl_divergence(RandomCase& draw) {
  const int64_t classes = draw.between(2, 5);
  auto [prediction, shape] = draw_logits(draw, classes);
  const auto prediction_is = draw.choose<std::string>({"logits", "log_probabilities"});
  const auto target_is = draw.choose<std::string>({"probabilities", "log_probabilities", "logits"});
  Values params = {{"prediction", prediction_is}, {"target", target_is}};
  if (prediction_is == "logits" || target_is == "logits") params["temperature"] = draw.choose<double>({1, 2, 0.5});
  at::Tensor target = target_is == "probabilities" ? draw_distribution(draw, prediction.sizes().vec())
                                                   : draw.numbers(prediction.sizes().vec(), 256);
  if (prediction_is == "log_probabilities") prediction = prediction.log_softmax(1);
  if (target_is == "log_probabilities") target = target.log_softmax(1);
  return {params, {prediction, target}};
}

LossCase ctc(RandomCase& draw) {
  const int64_t samples = draw.between(0, 4);
  const int64_t times = draw.between(1, 8);
  const int64_t classes = draw.between(2, 5);
  const int64_t width = draw.between(1, 4);
  const at::Tensor logits = draw.numbers({samples, times, classes}, 256);
  const auto blank = draw.choose<int64_t>({0, classes - 1});
  const at::Tensor target = (draw.integers({samples, width}, 0, classes - 1) + blank + 1).remainder(classes);
  const at::Tensor input_lengths = draw.integers({samples}, 0, times + 1);
  const at::Tensor target_lengths = draw.integers({samples}, 0, width + 1);
  return {{{"blank", blank}, {"zero_infinity", draw.choose<int64_t>({1, 1, 0}) == 1}},
          {logits, target, input_lengths, target_lengths}};
}

struct Tolerance {
  at::ScalarType dtype;
  double relative;
  double absolute;
};

// The losses must agree with PyTorch's double precision in single and double precision. Logits of 32 have a resolution
// of 4e-6 in single precision, and so has their cross entropy.
const Tolerance kTolerances[] = {{torch::kDouble, 1e-11, 1e-12}, {torch::kFloat, 1e-5, 5e-6}};

bool is_close(double ours, double theirs, double size, const Tolerance& tolerance) {
  if (!std::isfinite(theirs)) return std::isnan(theirs) ? std::isnan(ours) : ours == theirs;
  return std::abs(ours - theirs) <= tolerance.relative * size + tolerance.absolute;
}

void check_case(const std::string& id, RandomCase draw, LossCase (*make)(RandomCase&), const double* expected,
                const Tolerance& tolerance) {
  LossCase made = make(draw);
  for (at::Tensor& input : made.inputs)
    if (input.is_floating_point()) input = input.to(tolerance.dtype);
  const at::Tensor first = made.inputs[0].requires_grad_(true);
  const auto result = open_loss(id, made.params).forward({.training = true}, made.inputs);
  result.loss.backward();
  const at::Tensor gradient = first.grad().to(torch::kDouble);
  const double weight = result.weight_tensor.defined() ? result.weight_tensor.item<double>() : result.weight;
  const double size = gradient.abs().sum().item<double>();
  const double projected = (gradient * draw.numbers(first.sizes().vec(), 1024)).sum().item<double>();
  CHECK(is_close(result.loss.item<double>(), expected[0], std::abs(expected[0]), tolerance));
  CHECK(weight == expected[1]);
  CHECK(is_close(gradient.sum().item<double>(), expected[2], size, tolerance));
  CHECK(is_close(projected, expected[3], size, tolerance));
  if (weight == 0) CHECK(torch::equal(gradient, torch::zeros_like(gradient)));
}

void check_family(const std::string& file,
                  const std::vector<std::pair<std::string, LossCase (*)(RandomCase&)>>& components) {
  constexpr int64_t kColumns = 4;
  std::vector<std::pair<std::string, int64_t>> tables;
  for (const auto& component : components) tables.emplace_back(component.first, kColumns);
  const std::vector<at::Tensor> references = read_reference("losses_" + file, torch::kDouble, tables);
  for (size_t i = 0; i < components.size(); ++i) {
    const std::string& id = components[i].first;
    const auto& make = components[i].second;
    for (int64_t number = 0; number < kRandomCases; ++number) {
      CAPTURE(id);
      CAPTURE(number);
      for (const Tolerance& tolerance : kTolerances) {
        CAPTURE(tolerance.relative);
        check_case(id, RandomCase(id, number), make, references[i].data_ptr<double>() + number * kColumns, tolerance);
      }
    }
  }
}

}  // namespace

TEST_CASE("classification losses equal PyTorch's on 1,000 random inputs each") {
  check_family("classes", {{"cross_entropy", cross_entropy},
                           {"sequence_cross_entropy", sequence_cross_entropy},
                           {"soft_cross_entropy", soft_cross_entropy}});
}

TEST_CASE("regression losses equal PyTorch's on 1,000 random inputs each") {
  check_family("regression",
               {{"mse", without_parameter}, {"l1", without_parameter}, {"smooth_l1", smooth_l1}, {"huber", huber}});
}

TEST_CASE("dice and focal losses equal monai's and torchvision's on 1,000 random inputs each") {
  check_family("masks",
               {{"dice", dice}, {"binary_dice", binary_dice}, {"focal", focal}, {"binary_focal", binary_focal}});
}

TEST_CASE("bce_with_logits, kl_divergence and ctc equal PyTorch's on 1,000 random inputs each") {
  check_family("other", {{"bce_with_logits", bce_with_logits}, {"kl_divergence", kl_divergence}, {"ctc", ctc}});
}

}  // namespace random_losses_test

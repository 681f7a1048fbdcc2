#include "framework/optimization/optimizer.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <random>
#include <string>
#include <vector>

#include "tests/doctest_with_torch.h"

namespace tenon::optimization::optimizer_test {
namespace {

// A plan with PyTorch's defaults: every parameter is decayed.
config::OptimizerPlan plan_of(decltype(config::OptimizerPlan::rule) rule, double weight_decay = 0) {
  config::OptimizerPlan plan;
  plan.rule = std::move(rule);
  plan.lr = 1;
  plan.weight_decay = weight_decay;
  plan.decay = config::OptimizerPlan::Decay::all;
  return plan;
}

const config::OptimizerPlan kMomentum = plan_of(config::SgdPlan{.momentum = 0.9});
const config::OptimizerPlan kAdamW = plan_of(config::AdamPlan{}, 0.01);

// Start values, gradients and rates as in tests/parity/make_optimizers.py.
enum class Gradients { all, some };
enum class Momentum { configured, cycled };
constexpr int64_t kSteps = 20;
constexpr int64_t kParameters = 4;
const std::vector<int64_t> kKeptSteps = {0, 19};
const std::vector<std::vector<int64_t>> kShapes = {{3, 5}, {5}, {}, {4, 3}};

struct Reference {
  const char* name;
  config::OptimizerPlan plan;
  Gradients gradients;
  Momentum momentum;
  at::ScalarType dtype;
  std::vector<std::vector<double>> values;  // [kept steps][all elements]
};

const std::vector<Reference>& references() {
  static const std::vector<Reference> references = {
#include "tests/messages.h"
#include "tests/parity/reference/optimizers.inc"
  };
  return references;
}

at::Tensor pattern(int64_t parameter, int64_t factor, int64_t offset, int64_t modulus, int64_t divisor,
                   at::ScalarType dtype) {
  const auto& shape = kShapes[static_cast<size_t>(parameter)];
  const int64_t count = c10::multiply_integers(shape);
  const at::Tensor numbers = (at::arange(count, at::kLong) * factor + offset).remainder(modulus) - modulus / 2;
  return (numbers.to(dtype) / divisor).reshape(shape);
}

at::Tensor start(int64_t parameter, at::ScalarType dtype) { return pattern(parameter, 11, parameter, 23, 8, dtype); }

at::Tensor gradient(int64_t parameter, int64_t step, at::ScalarType dtype) {
  return pattern(parameter, 7, 13 * step + 5 * parameter, 17, 16, dtype);
}

bool has_gradient(Gradients gradients, int64_t parameter, int64_t step) {
  if (gradients == Gradients::all) return true;
  return step != 3 && (parameter != 1 || step % 2 == 1) && (parameter != 2 || step >= 10);
}

StepRates rates(int64_t step, Momentum momentum = Momentum::configured) {
  const auto number = static_cast<double>(step);
  const auto cycled = momentum == Momentum::cycled ? std::optional(0.75 + number / 128) : std::nullopt;
  return {0.0625 * (1 - number / 32), cycled};
}

std::vector<NamedTensor> make_parameters(at::ScalarType dtype) {
  std::vector<NamedTensor> parameters;
  for (int64_t i = 0; i < kParameters; ++i)
    parameters.push_back({"p" + std::to_string(i), start(i, dtype).requires_grad_()});
  return parameters;
}

void set_gradients(const std::vector<NamedTensor>& parameters, Gradients gradients, int64_t step) {
  for (int64_t i = 0; i < kParameters; ++i) {
    const at::Tensor& tensor = parameters[static_cast<size_t>(i)].tensor;
    tensor.mutable_grad() = has_gradient(gradients, i, step) ? gradient(i, step, tensor.scalar_type()) : at::Tensor();
  }
}

std::vector<double> all_values(const std::vector<NamedTensor>& parameters) {
  std::vector<double> values;
  for (const NamedTensor& parameter : parameters) {
    const at::Tensor flat = parameter.tensor.detach().to(at::kDouble).flatten();
    values.insert(values.end(), flat.data_ptr<double>(), flat.data_ptr<double>() + flat.numel());
  }
  return values;
}

std::map<std::string, at::Tensor> state_by_name(const Optimizer& optimizer) {
  std::map<std::string, at::Tensor> state;
  for (const NamedTensor& entry : optimizer.state()) state[entry.name] = entry.tensor;
  return state;
}

// The tolerance for the rounding of one element after `steps` steps. It counts twice, because both sides of a
// comparison round. u is the unit roundoff of the dtype.
//  - Storing the new value rounds it, and decay rounds once more: 2 u |value| per step.
//  - A step applies at most kOperations rounded operations to an element. Each one is equivalent to inputs that
//    differ by u (relative). So the result changes by kOperations u times its sensitivity to the inputs, which is
//    measured in double.
//  - Adam divides by 1 - 0.999^t, which is computed in double and cancels: 1000 / t times the rounding of the power.
//  - Muon's matrices are computed in bfloat16: each of its iterations may round an element up on one side and down
//    on the other. The directions are independent, so their sum grows with the square root of their number.
constexpr double kOperations = 12;
constexpr double kLargestRate = 0.0625;

// The relative perturbation of the inputs for measuring sensitivity: large compared with the roundings of double, small
// compared with Adam's eps of 1e-8.
constexpr double kPerturbation = 0x1p-36;
constexpr uint64_t kPerturbedRuns = 4;

// Values after each step in double precision. The inputs are randomly multiplied by 1 + kPerturbation or 1 -
// kPerturbation, unless the seed is 0.
std::vector<std::vector<double>> run_in_double(const Reference& reference, uint64_t seed) {
  std::mt19937_64 random(seed);
  const auto perturb = [&](const at::Tensor& tensor) {
    if (seed == 0 || !tensor.defined()) return;
    const at::Tensor flat = tensor.detach().view(-1);
    for (int64_t i = 0; i < flat.numel(); ++i)
      flat.data_ptr<double>()[i] *= 1 + (random() % 2 ? 1 : -1) * kPerturbation;
  };
  const std::vector<NamedTensor> parameters = make_parameters(at::kDouble);
  for (const NamedTensor& parameter : parameters) perturb(parameter.tensor);
  const auto optimizer = Optimizer::make(reference.plan, parameters);
  std::vector<std::vector<double>> values;
  for (int64_t step = 0; step < kSteps; ++step) {
    set_gradients(parameters, reference.gradients, step);
    for (const NamedTensor& parameter : parameters) perturb(parameter.tensor.grad());
    optimizer->step(rates(step, reference.momentum));
    values.push_back(all_values(parameters));
  }
  return values;
}

// [steps][all elements], see kOperations.
std::vector<std::vector<double>> tolerances_of(const Reference& reference) {
  const auto values = run_in_double(reference, 0);
  std::vector<std::vector<double>> sensitivities(values.size(), std::vector<double>(values[0].size()));
  for (uint64_t seed = 1; seed <= kPerturbedRuns; ++seed) {
    const auto perturbed = run_in_double(reference, seed);
    for (size_t step = 0; step < values.size(); ++step)
      for (size_t i = 0; i < values[step].size(); ++i)
        sensitivities[step][i] =
            std::max(sensitivities[step][i], std::abs(perturbed[step][i] - values[step][i]) / kPerturbation);
  }
  std::vector<bool> is_matrix;
  for (const std::vector<int64_t>& shape : kShapes)
    is_matrix.insert(is_matrix.end(), static_cast<size_t>(c10::multiply_integers(shape)), shape.size() == 2);
  const auto* const muon = std::get_if<config::MuonPlan>(&reference.plan.rule);
  const double roundoff = reference.dtype == at::kFloat ? 0x1p-24 : 0x1p-53;
  std::vector<std::vector<double>> tolerances;
  std::vector<double> stored(values[0].size());
  double correction = 0;
  for (size_t step = 0; step < values.size(); ++step) {
    const auto steps = static_cast<double>(step + 1);
    correction += 0x1p-53 * 1000 / steps * kLargestRate;
    tolerances.emplace_back();
    for (size_t i = 0; i < stored.size(); ++i) {
      stored[i] += 2 * roundoff * std::abs(values[step][i]);
      double one_side = stored[i] + correction;
      if (muon && is_matrix[i])
        one_side += 0x1p-8 * kLargestRate * std::sqrt(static_cast<double>(muon->ns_steps) * steps);
      else
        one_side += kOperations * roundoff * sensitivities[step][i];
      tolerances.back().push_back(2 * one_side);
    }
  }
  return tolerances;
}

// If gradient and decay cancel exactly, Adam divides a rounding error by itself. Such an element cannot be compared.
constexpr double kUninformative = 2e-2;
constexpr int kMaxUninformative = 1;

void check_close(const std::vector<double>& found, const std::vector<double>& expected,
                 const std::vector<double>& tolerances) {
  REQUIRE(found.size() == expected.size());
  int count = 0;
  for (size_t i = 0; i < found.size(); ++i) {
    CAPTURE(i);
    CHECK(std::abs(found[i] - expected[i]) <= tolerances[i]);
    count += tolerances[i] > kUninformative;
  }
  CHECK(count <= kMaxUninformative);
}

// The matrices are tiny: several threads would only wait for each other.
const bool kHasOneThread = (at::set_num_threads(1), true);

TEST_CASE("the optimizers follow PyTorch's trajectories, even if gradients are missing in some steps") {
  REQUIRE(kHasOneThread);
  REQUIRE(references().size() == 88);
  for (const Reference& reference : references()) {
    CAPTURE(std::string(reference.name));
    CAPTURE(reference.dtype);
    CAPTURE(static_cast<int>(reference.gradients));
    const std::vector<NamedTensor> parameters = make_parameters(reference.dtype);
    const auto optimizer = Optimizer::make(reference.plan, parameters);
    const auto tolerances = tolerances_of(reference);
    size_t kept = 0;
    for (int64_t step = 0; step < kSteps; ++step) {
      set_gradients(parameters, reference.gradients, step);
      optimizer->step(rates(step, reference.momentum));
      if (step != kKeptSteps[kept]) continue;
      CAPTURE(step);
      check_close(all_values(parameters), reference.values[kept++], tolerances[static_cast<size_t>(step)]);
    }
    CHECK(kept == kKeptSteps.size());
  }
}

TEST_CASE("adamw is bitwise equal to LibTorch's fused kernel") {
  const std::vector<NamedTensor> parameters = make_parameters(at::kFloat);
  const auto optimizer = Optimizer::make(kAdamW, parameters);
  std::vector<at::Tensor> tensors, first_moments, second_moments, steps;
  for (int64_t i = 0; i < kParameters; ++i) {
    tensors.push_back(start(i, at::kFloat));
    first_moments.push_back(at::zeros_like(tensors.back()));
    second_moments.push_back(at::zeros_like(tensors.back()));
    steps.push_back(at::zeros({}));
  }
  for (int64_t step = 0; step < kSteps; ++step) {
    set_gradients(parameters, Gradients::all, step);
    optimizer->step(rates(step));
    std::vector<at::Tensor> gradients;
    for (int64_t i = 0; i < kParameters; ++i) gradients.push_back(gradient(i, step, at::kFloat));
    at::_foreach_add_(steps, 1);
    at::_fused_adamw_(tensors, gradients, first_moments, second_moments, {}, steps, rates(step).learning_rate, 0.9,
                      0.999, 0.01, 1e-8, false, false);
  }
  for (size_t i = 0; i < kParameters; ++i) CHECK(at::equal(parameters[i].tensor, tensors[i]));
  CHECK(at::equal(state_by_name(*optimizer).at("p1.exp_avg_sq"), second_moments[1]));
}

TEST_CASE("the state has PyTorch's names, and only for parameters that had a gradient") {
  const std::vector<NamedTensor> parameters = make_parameters(at::kDouble);
  const auto optimizer = Optimizer::make(kAdamW, parameters);
  CHECK(optimizer->state().empty());
  for (int64_t step = 0; step < 4; ++step) {
    set_gradients(parameters, Gradients::some, step);
    optimizer->step({0.1});
  }
  const auto state = state_by_name(*optimizer);
  CHECK(state.size() == 9);
  CHECK((state.at("p0.exp_avg").sizes() == parameters[0].tensor.sizes()));
  CHECK((state.at("p0.exp_avg_sq").scalar_type() == at::kDouble));
  CHECK((state.at("p0.step").scalar_type() == at::kFloat));
  CHECK(state.at("p0.step").dim() == 0);
  CHECK(state.at("p0.step").item<float>() == 3);
  CHECK(state.at("p1.step").item<float>() == 1);
}

TEST_CASE("sgd keeps a momentum buffer that starts as the first gradient") {
  const std::vector<NamedTensor> parameters = make_parameters(at::kFloat);
  const auto plain = Optimizer::make(plan_of(config::SgdPlan{}), parameters);
  const auto momentum = Optimizer::make(kMomentum, parameters);
  set_gradients(parameters, Gradients::all, 0);
  plain->step({0.1});
  momentum->step({0.1});
  CHECK(plain->state().empty());
  CHECK(momentum->state().size() == 4);
  CHECK(at::equal(state_by_name(*momentum).at("p0.momentum_buffer"), gradient(0, 0, at::kFloat)));
}

TEST_CASE("sgd updates every element of a 16-bit parameter") {
  for (const at::ScalarType dtype : {at::kBFloat16, at::kHalf})
    for (const double momentum : {0.0, 0.5}) {
      // The dtypes represent each result exactly.
      const at::Tensor step = at::arange(100).remainder(16).to(dtype);
      const NamedTensor parameter{"p", at::zeros_like(step)};
      const auto optimizer = Optimizer::make(plan_of(config::SgdPlan{.momentum = momentum}), std::vector{parameter});
      for (int i = 0; i < 2; ++i) {
        parameter.tensor.mutable_grad() = step;
        optimizer->step({1});
      }
      CHECK(at::equal(parameter.tensor, step * (momentum == 0 ? -2 : -2.5)));
      if (momentum != 0) CHECK(at::equal(state_by_name(*optimizer).at("p.momentum_buffer"), step * 1.5));
    }
}

TEST_CASE("the returned state is the one that the next step uses") {
  const std::vector<NamedTensor> parameters = make_parameters(at::kFloat);
  const auto optimizer = Optimizer::make(kMomentum, parameters);
  set_gradients(parameters, Gradients::all, 0);
  optimizer->step({0.1});
  for (const NamedTensor& entry : optimizer->state()) entry.tensor.zero_();
  set_gradients(parameters, Gradients::all, 1);
  optimizer->step({0.1});
  CHECK(at::equal(state_by_name(*optimizer).at("p0.momentum_buffer"), gradient(0, 1, at::kFloat)));
}

TEST_CASE("a step without any gradient changes nothing") {
  const std::vector<NamedTensor> parameters = make_parameters(at::kFloat);
  for (const config::OptimizerPlan& plan : {kAdamW, kMomentum}) {
    const auto optimizer = Optimizer::make(plan, parameters);
    optimizer->step({0.1});
    CHECK(optimizer->state().empty());
  }
  for (int64_t i = 0; i < kParameters; ++i)
    CHECK(at::equal(parameters[static_cast<size_t>(i)].tensor, start(i, at::kFloat)));
}

TEST_CASE("zero_grad releases the gradients, and the optimizer keeps none alive") {
  const std::vector<NamedTensor> parameters = make_parameters(at::kFloat);
  const auto optimizer = Optimizer::make(kAdamW, parameters);
  set_gradients(parameters, Gradients::all, 0);
  const at::Tensor first = parameters[0].tensor.grad();
  optimizer->step({0.1});
  optimizer->zero_grad();
  for (const NamedTensor& parameter : parameters) CHECK_FALSE(parameter.tensor.grad().defined());
  CHECK(first.use_count() == 1);
}

TEST_CASE("a gradient with another memory order reaches the right elements") {
  for (const config::OptimizerPlan& plan : {kAdamW, kMomentum}) {
    const at::Tensor values = at::arange(24, at::kFloat).reshape({2, 3, 2, 2}) / 8 - 1;
    const at::Tensor contiguous = values.clone().requires_grad_();
    const at::Tensor channels_last = values.contiguous(at::MemoryFormat::ChannelsLast).requires_grad_();
    const auto first = Optimizer::make(plan, {{"weight", contiguous}});
    const auto second = Optimizer::make(plan, {{"weight", channels_last}});
    for (int step = 0; step < 3; ++step) {
      const at::Tensor gradient = (values + step).sin();
      contiguous.mutable_grad() = gradient;
      channels_last.mutable_grad() = gradient.clone();
      first->step({0.1});
      second->step({0.1});
    }
    CHECK(channels_last.is_contiguous(at::MemoryFormat::ChannelsLast));
    // Vector instructions may round the last few elements differently from the others. The memory order decides which
    // elements these are. In each of three steps this affects some operations on numbers below 2, on either side.
    const double tolerance = 2 * 3 * kOperations * 2 * 0x1p-24;
    CHECK(at::allclose(contiguous, channels_last, 0, tolerance));
    CHECK_FALSE(at::allclose(contiguous, values, 0, 1e-2));
  }
}

std::string message_of(const std::vector<NamedTensor>& parameters) {
  return find_error(support::ErrorKind::plugin, [&] { Optimizer::make(kAdamW, parameters)->step({0.1}); });
}

TEST_CASE("a parameter of integers is refused by name") {
  CHECK(message_of({{"table", at::zeros({3}, at::kLong)}}) ==
        "parameter table: its dtype is Long; expected a floating-point one; register it as a buffer");
}

TEST_CASE("a parameter that is an expanded view is refused by name") {
  CHECK(message_of({{"scale", at::zeros({1}).expand({3})}}) ==
        "parameter scale: a view of shape [3] with strides [0]; expected a tensor without gaps or overlaps in memory; "
        "register "
        "its contiguous() copy");
}

TEST_CASE("a sparse gradient is refused by the parameter's name") {
  const at::Tensor weight = at::zeros({4, 2}).requires_grad_();
  weight.mutable_grad() = at::zeros({4, 2}).to_sparse();
  CHECK(message_of({{"embedding.weight", weight}}) ==
        "parameter embedding.weight: its gradient is sparse; the optimizers take dense gradients; build the layer with "
        "sparse "
        "= false");
}

}  // namespace
}  // namespace tenon::optimization::optimizer_test

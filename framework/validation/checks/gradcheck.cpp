#include "framework/validation/checks/gradcheck.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <optional>
#include <set>

#include "framework/support/text/format.h"

namespace tenon::validation {

namespace {

// The tensors of a check are so small that several threads would spend most of the time waiting for each other.
class OneThread {
 public:
  OneThread() { at::set_num_threads(1); }
  OneThread(const OneThread&) = delete;
  OneThread& operator=(const OneThread&) = delete;
  ~OneThread() { at::set_num_threads(before_); }

 private:
  const int before_ = at::get_num_threads();
};

double evaluate(const std::function<at::Tensor()>& function) {
  const at::NoGradGuard no_grad;
  return function().item<double>();
}

// A gradient such as that of batch normalisation of nearly equal values. It grows rounding errors.
bool is_steep(double gradient) { return std::abs(gradient) > 1e4; }

// Steps from an element in both directions. Curvature needs a small step, rounding errors a large one. A steep function
// also needs steps that change it by about 1e-4 and 1e-5.
std::vector<double> choose_steps(double element, double gradient) {
  std::vector<double> steps;
  for (const double relative : {1e-6, 1e-4, 1e-8}) steps.push_back(relative * std::max(1.0, std::abs(element)));
  if (is_steep(gradient))
    for (const double change : {1e-4, 1e-5}) steps.push_back(change / std::abs(gradient));
  return steps;
}

bool are_close(double left, double right, double relative = 1e-3) {
  return std::abs(left - right) <= 1e-6 + relative * std::max(std::abs(left), std::abs(right));
}

struct ComparedElement {
  enum class Result { is_close, differs, inconclusive };
  Result result;
  double numerical;  // with `differs`, the numerical gradient that two steps gave
};

// A gradient differs if two steps give the same numerical gradient, and it is another one. If each step gives a
// different one, the function is too steep for its rounding errors.
ComparedElement compare_element(const std::function<at::Tensor()>& function, const at::Tensor& flat, int64_t index,
                                double gradient) {
  const at::NoGradGuard no_grad;
  const at::Tensor element = flat[index];
  const double before = element.item<double>();
  const double tolerance = is_steep(gradient) ? 1e-2 : 1e-3;
  std::vector<double> found;
  std::optional<double> repeated;
  for (const double step : choose_steps(before, gradient)) {
    const double right = before + step;
    const double left = before - step;
    element.fill_(right);
    const double above = evaluate(function);
    element.fill_(left);
    const double below = evaluate(function);
    element.fill_(before);
    const double numerical = (above - below) / (right - left);
    if (are_close(gradient, numerical, tolerance)) return {ComparedElement::Result::is_close, numerical};
    if (std::ranges::any_of(found, [&](double earlier) { return are_close(earlier, numerical); })) repeated = numerical;
    found.push_back(numerical);
  }
  if (repeated) return {ComparedElement::Result::differs, *repeated};
  return {ComparedElement::Result::inconclusive, found.back()};
}

// Chooses elements of one variable: the one with the largest gradient and some random ones. With many variables it
// chooses fewer, since each element costs two or more evaluations of the function.
std::set<int64_t> choose_elements(const at::Tensor& gradient, size_t variables) {
  const int64_t chosen_at_random = std::clamp<int64_t>(64 / static_cast<int64_t>(variables), 1, 3);
  std::set<int64_t> chosen{gradient.abs().argmax().item<int64_t>()};
  const at::Tensor random = at::randint(0, gradient.numel(), {chosen_at_random}, at::kLong);
  for (int64_t i = 0; i < chosen_at_random; ++i) chosen.insert(random[i].item<int64_t>());
  return chosen;
}

}  // namespace

GradientComparison compare_gradients(const std::function<at::Tensor()>& function,
                                     const std::vector<NamedVariable>& variables, uint64_t seed) {
  const OneThread one_thread;
  for (const NamedVariable& variable : variables) variable.tensor.mutable_grad().reset();
  function().backward();
  torch::manual_seed(seed);
  GradientComparison comparison;
  for (const NamedVariable& variable : variables) {
    const at::Tensor gradient = variable.tensor.grad();
    if (variable.tensor.numel() == 0) continue;
    const at::Tensor slopes =
        gradient.defined() ? gradient.flatten() : at::zeros({variable.tensor.numel()}, at::kDouble);
    const at::Tensor flat = variable.tensor.detach().view(-1);
    for (const int64_t index : choose_elements(slopes, variables.size())) {
      const double slope = slopes[index].item<double>();
      const ComparedElement compared = compare_element(function, flat, index, slope);
      ++comparison.compared;
      if (compared.result == ComparedElement::Result::inconclusive) ++comparison.inconclusive;
      if (compared.result != ComparedElement::Result::differs) continue;
      comparison.difference =
          fmt::format("the gradient with respect to element {} of {} is {:g}; the numerical gradient is {:g}", index,
                      variable.name, slope, compared.numerical);
      return comparison;
    }
  }
  return comparison;
}

void require_equal_gradients(Session& session, const std::function<at::Tensor()>& function,
                             const std::vector<NamedVariable>& variables) {
  const GradientComparison comparison = compare_gradients(function, variables, session.seed());
  if (!comparison.difference.empty()) throw Failed(comparison.difference);
  if (comparison.inconclusive == 0) return;
  session.warn(
      fmt::format("{} of {} gradients could not be compared: each step size gives another numerical gradient, "
                  "because the function is too steep for its rounding errors; try other sizes with --params",
                  comparison.inconclusive, comparison.compared));
}

}  // namespace tenon::validation

#include "framework/validation/checks/gradcheck.h"

#include <torch/types.h>
#include <torch/utils.h>

#include <algorithm>
#include <cmath>
#include <set>
#include <sstream>

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

// Steps from an element in both directions. Curvature needs a small step, rounding errors a large one. A large
// gradient, such as that of batch normalisation of nearly equal values, also needs a step that changes the function by
// about 1e-4.
std::vector<double> choose_steps(double element, double gradient) {
  std::vector<double> steps;
  for (const double relative : {1e-6, 1e-4, 1e-8}) steps.push_back(relative * std::max(1.0, std::abs(element)));
  const double changes_little = 1e-4 / std::abs(gradient);
  if (changes_little < steps.back()) steps.push_back(changes_little);
  return steps;
}

bool matches(const std::function<at::Tensor()>& function, const at::Tensor& flat, int64_t index, double gradient,
             double& numerical) {
  const at::NoGradGuard no_grad;
  const at::Tensor element = flat[index];
  const double before = element.item<double>();
  for (const double step : choose_steps(before, gradient)) {
    const double right = before + step;
    const double left = before - step;
    element.fill_(right);
    const double above = evaluate(function);
    element.fill_(left);
    const double below = evaluate(function);
    element.fill_(before);
    numerical = (above - below) / (right - left);
    const double scale = std::max(std::abs(gradient), std::abs(numerical));
    if (std::abs(gradient - numerical) <= 1e-6 + 1e-3 * scale) return true;
  }
  return false;
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

std::string compare_gradients(const std::function<at::Tensor()>& function, const std::vector<NamedVariable>& variables,
                              uint64_t seed) {
  const OneThread one_thread;
  for (const NamedVariable& variable : variables) variable.tensor.mutable_grad().reset();
  function().backward();
  torch::manual_seed(seed);
  for (const NamedVariable& variable : variables) {
    const at::Tensor gradient = variable.tensor.grad();
    if (variable.tensor.numel() == 0) continue;
    const at::Tensor slopes =
        gradient.defined() ? gradient.flatten() : at::zeros({variable.tensor.numel()}, at::kDouble);
    const at::Tensor flat = variable.tensor.detach().view(-1);
    for (const int64_t index : choose_elements(slopes, variables.size())) {
      const double slope = slopes[index].item<double>();
      double numerical = 0;
      if (matches(function, flat, index, slope, numerical)) continue;
      std::ostringstream text;
      text << "the gradient with respect to element " << index << " of " << variable.name << " is " << slope
           << "; the numerical gradient is " << numerical;
      return text.str();
    }
  }
  return "";
}

}  // namespace tenon::validation

#include "framework/pipeline/loop/compare_repeats.h"

#include <torch/types.h>

#include <algorithm>
#include <limits>

namespace tenon::pipeline {

namespace {

constexpr double kRepeatMargin = 10;
constexpr double kLastPlaces = 4;

double unit_of(at::ScalarType dtype) {
  switch (dtype) {
    case at::kDouble: return std::numeric_limits<double>::epsilon();
    case at::kFloat: return std::numeric_limits<float>::epsilon();
    case at::kHalf: return std::numeric_limits<c10::Half>::epsilon();
    case at::kBFloat16: return std::numeric_limits<c10::BFloat16>::epsilon();
    default: return 0;
  }
}

// The relative difference of each pair. Equal bits and two NaN differ by 0, NaN and a number by infinity.
std::vector<double> differences(const std::vector<at::Tensor>& a, const std::vector<at::Tensor>& b) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  std::vector<at::Tensor> relative;
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i].numel() == 0) {
      relative.push_back(at::zeros({}, a[i].options().dtype(at::kDouble)));
      continue;
    }
    const at::Tensor x = a[i].to(at::kDouble), y = b[i].to(at::kDouble);
    const at::Tensor is_equal = x.eq(y).logical_or(x.isnan().logical_and(y.isnan()));
    const at::Tensor largest = (x - y).abs().nan_to_num(kInfinity).masked_fill(is_equal, 0).max();
    const at::Tensor size = x.abs().nan_to_num(0, 0).max();
    relative.push_back((largest / size).masked_fill(largest.eq(0), 0).nan_to_num(kInfinity, kInfinity));
  }
  if (relative.empty()) return {};
  const at::Tensor all = at::stack(relative).cpu();
  return {all.const_data_ptr<double>(), all.const_data_ptr<double>() + all.numel()};
}

}  // namespace

bool is_repeated(const std::vector<at::Tensor>& usual, const std::vector<at::Tensor>& again,
                 const std::vector<at::Tensor>& replayed) {
  if (replayed.size() != usual.size()) return false;
  const std::vector<double> of_usual = differences(usual, again), of_replayed = differences(usual, replayed);
  const double largest = of_usual.empty() ? 0 : *std::ranges::max_element(of_usual);
  for (size_t i = 0; i < of_replayed.size(); ++i)
    if (!(of_replayed[i] <= kRepeatMargin * largest + kLastPlaces * unit_of(usual[i].scalar_type()))) return false;
  return true;
}

}  // namespace tenon::pipeline

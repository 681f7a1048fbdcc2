#include "framework/pipeline/losses/loss_sums.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "framework/support/error.h"

namespace tenon::pipeline {

namespace {

at::Tensor to_double(const at::Tensor& scalar) { return scalar.detach().reshape({}).to(at::kDouble); }

}  // namespace

LossSums::LossSums(const std::vector<plugins::Loss>& losses) {
  int64_t place = 0;
  for (const plugins::Loss& loss : losses) {
    places_.push_back(place);
    parts_.push_back(loss.part_names().size());
    place += 2 + 2 * static_cast<int64_t>(parts_.back());
  }
  elements_.resize(static_cast<size_t>(place));
}

void LossSums::reset() { std::ranges::fill(elements_, 0.0); }

void LossSums::add(const std::vector<LossValue>& values) {
  double* element = elements_.data();
  const auto add_mean = [&element](double mean, double over) {
    *element++ += over;
    *element++ += over > 0 ? over * mean : 0;  // the mean of 0 items is NaN
  };
  for (const LossValue& value : values) {
    add_mean(value.mean, value.weight);
    for (const double part : value.parts) add_mean(part, std::isnan(part) ? 0 : value.weight);
  }
}

void LossSums::set(std::span<const double>& elements) {
  const auto local = elements.first(elements_.size());
  elements_.assign(local.begin(), local.end());
  elements = elements.subspan(local.size());
}

void LossSums::save(const std::string& name, SavedState& saved) const {
  saved.tensors["loss_sums." + name] = at::tensor(elements_, at::kDouble);
}

void LossSums::load(const std::string& name, const SavedState& saved) {
  const at::Tensor& tensor = saved.tensor("loss_sums." + name);
  if (tensor.scalar_type() != at::kDouble || tensor.numel() != static_cast<int64_t>(elements_.size()))
    throw support::Error(support::ErrorKind::checkpoint, "the checkpoint's tensor loss_sums." + name + " has " +
                                                             std::to_string(tensor.numel()) + " elements of " +
                                                             c10::toString(tensor.scalar_type()) + "; expected " +
                                                             std::to_string(elements_.size()) +
                                                             " of Double: the losses have changed since it was "
                                                             "written");
  std::span<const double> elements(tensor.const_data_ptr<double>(), elements_.size());
  set(elements);
}

std::vector<LossValue> LossSums::means() const {
  std::vector<LossValue> means;
  means.reserve(parts_.size());
  const double* element = elements_.data();
  const auto next_mean = [&element] {
    const double weight = *element++, sum = *element++;
    return weight > 0 ? sum / weight : std::nan("");
  };
  for (const size_t parts : parts_) {
    const double weight = *element;
    LossValue& value = means.emplace_back(LossValue{next_mean(), weight});
    for (size_t k = 0; k < parts; ++k) value.parts.push_back(next_mean());
  }
  return means;
}

at::Tensor sum_elements(const std::vector<plugins::Loss::Result>& results, c10::Device device) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> elements;
  const at::Tensor zero = at::zeros({}, at::TensorOptions(device).dtype(at::kDouble));
  for (const plugins::Loss::Result& result : results) {
    const at::Tensor weight =
        result.weight_tensor.defined() ? to_double(result.weight_tensor) : at::full_like(zero, result.weight);
    const auto add_mean = [&](const at::Tensor& mean) {
      elements.push_back(mean.defined() ? weight : zero);
      elements.push_back(mean.defined() ? at::where(weight > 0, to_double(mean) * weight, zero) : zero);
    };
    add_mean(result.loss);
    for (const at::Tensor& part : result.parts) add_mean(part);
  }
  return at::stack(elements);
}

}  // namespace tenon::pipeline

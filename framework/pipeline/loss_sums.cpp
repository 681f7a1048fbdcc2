#include "framework/pipeline/loss_sums.h"

#include <torch/torch.h>

#include <cmath>

namespace tenon::pipeline {

namespace {

double divide(double sum, double weight) { return weight > 0 ? sum / weight : std::nan(""); }

at::Tensor to_double(const at::Tensor& scalar) { return scalar.detach().reshape({}).to(at::kDouble); }

}  // namespace

LossSums::LossSums(const std::vector<plugins::Loss>& losses, c10::Device device) : device_(device) {
  int64_t place = 0;
  for (const plugins::Loss& loss : losses) {
    places_.push_back(place);
    parts_.push_back(loss.part_names().size());
    place += 2 + 2 * static_cast<int64_t>(parts_.back());
  }
  known_.resize(static_cast<size_t>(place));
}

void LossSums::reset() {
  std::ranges::fill(known_, 0.0);
  unknown_ = at::Tensor();
}

void LossSums::add(const std::vector<LossValue>& values) {
  for (size_t i = 0; i < values.size(); ++i) {
    double* sum = &known_[static_cast<size_t>(places_[i])];
    const double weight = values[i].weight;
    const auto add_mean = [&sum](double mean, double over) {
      *sum++ += over;
      *sum++ += over > 0 ? over * mean : 0;  // 0 items have no mean: NaN
    };
    add_mean(values[i].mean, weight);
    for (const double part : values[i].parts) add_mean(part, std::isnan(part) ? 0 : weight);
  }
}

void LossSums::add(const std::vector<plugins::Loss::Result>& results) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> sums;
  const at::Tensor zero = at::zeros({}, at::TensorOptions(device_).dtype(at::kDouble));
  for (const plugins::Loss::Result& result : results) {
    const at::Tensor weight =
        result.weight_tensor.defined() ? to_double(result.weight_tensor) : at::full_like(zero, result.weight);
    const auto add_mean = [&](const at::Tensor& mean) {
      sums.push_back(mean.defined() ? weight : zero);
      sums.push_back(mean.defined() ? at::where(weight > 0, to_double(mean) * weight, zero) : zero);
    };
    add_mean(result.loss);
    for (const at::Tensor& part : result.parts) add_mean(part);
  }
  const at::Tensor added = at::stack(sums);
  unknown_ = unknown_.defined() ? unknown_ + added : added;
}

at::Tensor LossSums::tensor() {
  at::Tensor known = at::tensor(known_, at::kDouble).to(device_);
  return unknown_.defined() ? known + unknown_ : known;
}

std::vector<LossValue> LossSums::read(std::span<const double>& elements) const {
  std::vector<LossValue> values;
  const auto take_mean = [&elements](double& weight) {
    weight = elements[0];
    const double mean = divide(elements[1], weight);
    elements = elements.subspan(2);
    return mean;
  };
  for (const size_t parts : parts_) {
    LossValue value{0, 0, {}};
    value.mean = take_mean(value.weight);
    double of_part = 0;
    for (size_t k = 0; k < parts; ++k) value.parts.push_back(take_mean(of_part));
    values.push_back(std::move(value));
  }
  return values;
}

}  // namespace tenon::pipeline

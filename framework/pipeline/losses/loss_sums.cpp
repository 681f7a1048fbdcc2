#include "framework/pipeline/losses/loss_sums.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "framework/pipeline/device/readback.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::pipeline {

namespace {

using Results = std::vector<components::Loss::Result>;

// A sum without items counts as measured: its weight is above 0, and too small to change that of others.
constexpr double kMeasured = 1e-12;
constexpr double kNaN = std::numeric_limits<double>::quiet_NaN();

at::Tensor to_double(const at::Tensor& scalar) { return scalar.detach().reshape({}).to(at::kDouble); }

void check_weight(double weight, const components::Loss& loss, const components::StepContext& context) {
  if (weight >= 0 && !std::isinf(weight)) return;
  throw support::Error(
      support::ErrorKind::plugin,
      "{}, forward ({}): the weight is {}; expected the number of items that the mean was taken over, 0 or more",
      loss.component().describe(), context.at()(), std::to_string(weight));
}

// Does not read the values, which may still be computed.
at::Tensor sum_on_device(const Results& batch, c10::Device device) {
  const at::NoGradGuard no_grad;
  std::vector<at::Tensor> elements;
  const at::Tensor zero = at::zeros({}, at::TensorOptions(device).dtype(at::kDouble));
  const auto add_mean = [&](const at::Tensor& mean, const at::Tensor& weight, bool is_sum) {
    elements.push_back(is_sum ? weight + kMeasured : weight);
    elements.push_back(is_sum ? mean : at::where(weight > 0, mean * weight, zero));
  };
  for (const components::Loss::Result& result : batch) {
    const at::Tensor weight =
        result.weight_tensor.defined() ? to_double(result.weight_tensor) : at::full_like(zero, result.weight);
    add_mean(to_double(result.loss), weight, result.is_sum);
    for (const at::Tensor& part : result.parts) {
      const at::Tensor mean = part.defined() ? to_double(part) : zero;
      const bool is_sum = result.is_sum && part.defined();
      add_mean(is_sum ? at::where(mean.isnan(), zero, mean) : mean,
               part.defined() ? at::where(mean.isnan(), zero, weight) : zero, is_sum);
    }
  }
  return at::stack(elements);
}

}  // namespace

size_t place_of_weight(const std::vector<components::Loss>& losses, size_t loss) {
  size_t place = 0;
  for (size_t i = 0; i < loss; ++i) place += 2 + 2 * losses[i].part_names().size();
  return place;
}

LossSums::LossSums(const std::vector<components::Loss>& losses)
    : losses_(&losses), elements_(place_of_weight(losses, losses.size())) {}

void LossSums::reset() { std::ranges::fill(elements_, 0.0); }

void LossSums::add(const Results& batch, std::span<const double>& values, const components::StepContext& context) {
  double* element = elements_.data();
  const auto add_mean = [&element](double mean, double weight, bool is_sum) {
    *element++ += is_sum ? weight + kMeasured : weight;
    *element++ += is_sum ? mean : weight > 0 ? weight * mean : 0;  // the mean of 0 items is NaN
  };
  for (size_t i = 0; i < batch.size(); ++i) {
    const double mean = take_value(values);
    const double weight = batch[i].weight_tensor.defined() ? take_value(values) : batch[i].weight;
    check_weight(weight, (*losses_)[i], context);
    add_mean(mean, weight, batch[i].is_sum);
    for (const at::Tensor& part : batch[i].parts) {
      const double value = part.defined() ? take_value(values) : kNaN;
      add_mean(value, std::isnan(value) ? 0 : weight, batch[i].is_sum && !std::isnan(value));
    }
  }
}

void LossSums::add(const Results& batch, const components::StepContext& context) {
  std::vector<at::Tensor> scalars;
  append_scalars(batch, scalars);
  std::vector<double> numbers;
  numbers.reserve(scalars.size());
  for (const at::Tensor& scalar : scalars) numbers.push_back(read_scalar(scalar));
  std::span<const double> values(numbers);
  add(batch, values, context);
}

void LossSums::add(const LossSums& sums) {
  for (size_t i = 0; i < elements_.size(); ++i) elements_[i] += sums.elements_[i];
}

double LossSums::mean_at(size_t place, const components::Loss& loss) const {
  return elements_[place] > 0 ? elements_[place + 1] / loss.divisor(elements_[place]) : kNaN;
}

double LossSums::weight(size_t loss) const { return elements_[place_of_weight(*losses_, loss)]; }

double LossSums::mean(size_t loss) const { return mean_at(place_of_weight(*losses_, loss), (*losses_)[loss]); }

std::optional<size_t> LossSums::find_non_finite() const {
  for (size_t i = 0; i < losses_->size(); ++i)
    if (weight(i) > 0 && !std::isfinite(mean(i))) return i;
  return std::nullopt;
}

double LossSums::total() const {
  double total = 0;
  bool has_items = false;
  for (size_t i = 0; i < losses_->size(); ++i) {
    if (!(weight(i) > 0)) continue;
    total += (*losses_)[i].factor() * mean(i);
    has_items = true;
  }
  return has_items ? total : kNaN;
}

std::vector<std::pair<std::string, double>> LossSums::parts() const {
  std::vector<std::pair<std::string, double>> parts;
  size_t place = 0;
  for (const components::Loss& loss : *losses_) {
    if (losses_->size() > 1) parts.emplace_back(loss.name(), mean_at(place, loss));
    place += 2;
    for (const std::string& part : loss.part_names()) {
      parts.emplace_back(loss.name() + "." + part, mean_at(place, loss));
      place += 2;
    }
  }
  return parts;
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
    throw support::Error(support::ErrorKind::checkpoint,
                         "the checkpoint's tensor loss_sums.{} has {} elements of {}; expected {} of Double: the "
                         "losses have changed since it was written",
                         name, tensor.numel(), c10::toString(tensor.scalar_type()), elements_.size());
  std::span<const double> elements(tensor.const_data_ptr<double>(), elements_.size());
  set(elements);
}

at::Tensor sum_elements(const std::vector<components::Loss>& losses, const Results& batch,
                        const components::StepContext& context, c10::Device device) {
  if (!device.is_cpu()) return sum_on_device(batch, device);
  LossSums sums(losses);
  sums.add(batch, context);
  return at::tensor(at::ArrayRef(sums.elements().data(), sums.elements().size()), at::kDouble);
}

Results detach(const Results& batch) {
  Results detached;
  detached.reserve(batch.size());
  for (const components::Loss::Result& result : batch) {
    detached.push_back({result.loss.variable_data(), result.weight_tensor, result.weight, {}, result.is_sum});
    for (const at::Tensor& part : result.parts)
      detached.back().parts.push_back(part.defined() ? part.variable_data() : part);
  }
  return detached;
}

void append_scalars(const Results& batch, std::vector<at::Tensor>& scalars) {
  for (const components::Loss::Result& result : batch) {
    scalars.push_back(result.loss);
    if (result.weight_tensor.defined()) scalars.push_back(result.weight_tensor);
    for (const at::Tensor& part : result.parts)
      if (part.defined()) scalars.push_back(part);
  }
}

}  // namespace tenon::pipeline

#include "framework/pipeline/losses/loss_groups.h"

#include <torch/types.h>

#include "framework/pipeline/device/readback.h"
#include "framework/pipeline/losses/loss_sums.h"
#include "framework/support/diagnostics/error.h"
#include "framework/support/text/format_values.h"

namespace tenon::pipeline {

namespace {

at::Tensor add(const at::Tensor& total, const at::Tensor& part) { return total.defined() ? total + part : part; }

// A loss with factor 1 is returned unchanged, which avoids a rounding.
at::Tensor times(const at::Tensor& loss, double factor) { return factor == 1 ? loss : loss * factor; }

// Synchronises if the weight is on another device.
double read_weight(const components::Loss::Result& result) {
  return result.weight_tensor.defined() ? read_scalar(result.weight_tensor) : result.weight;
}

// [] float64, on the tensor's device.
at::Tensor as_double(const at::Tensor& weight) { return weight.detach().reshape({}).to(at::kDouble); }

// A mean over nothing may be NaN, and NaN times 0 is NaN.
at::Tensor zero_if_empty(const at::Tensor& loss, const at::Tensor& weight) {
  return at::where(weight > 0, loss, at::zeros_like(loss));
}

}  // namespace

LossGroups::LossGroups(const std::vector<components::Loss>& losses, Gradients& gradients, size_t parameters,
                       int64_t accumulate, int64_t ranks, int64_t batch_size, bool reads_weights)
    : losses_(losses),
      gradients_(gradients),
      parameters_(parameters),
      mode_(accumulate > 1       ? Mode::sums
            : ranks == 1         ? Mode::means
            : losses.size() == 1 ? Mode::sums
                                 : Mode::shares),
      is_shared_(ranks > 1),
      step_size_(static_cast<double>(batch_size * accumulate * ranks)),
      reads_weights_(reads_weights) {}

void LossGroups::reset() {
  groups_.clear();
  totals_.clear();
  has_gradient_ = false;
}

void LossGroups::set_totals(const at::Tensor& sums) {
  totals_.clear();
  // The host does not know these weights, so assume a gradient.
  has_gradient_ = !reads_weights_;
  for (size_t i = 0; i < losses_.size(); ++i) {
    totals_.push_back(sums.select(0, static_cast<int64_t>(place_of_weight(losses_, i))));
    if (reads_weights_ && (losses_[i].returns_sums() || read_scalar(totals_.back()) > 0)) has_gradient_ = true;
  }
}

void LossGroups::run_backward(const std::vector<components::Loss::Result>& results, int64_t samples,
                              const Backward& backward, const std::function<void()>& join) {
  if (mode_ != Mode::sums) {
    const at::Tensor total = mode_ == Mode::means ? add_up_means(results) : add_up_shares(results);
    if (!total.defined()) return join();
    has_gradient_ = true;
    return backward(total, /*keep_graph=*/false);
  }
  count_items(results, samples);
  for (Group& group : groups_) {
    const at::Tensor total = add_up_sums(group.losses, results);
    if (total.defined()) has_gradient_ = true;
    with_gradients_of(group, [&] {
      if (total.defined())
        backward(total, /*keep_graph=*/&group != &groups_.back());
      else
        join();
    });
  }
}

void LossGroups::join_backward(const std::function<void()>& join) {
  if (!keeps_separate()) return join();
  if (groups_.empty()) groups_ = make_groups({}, 0);
  for (Group& group : groups_) with_gradients_of(group, join);
}

// Within `run`, the parameters have the gradients of this group.
void LossGroups::with_gradients_of(Group& group, const std::function<void()>& run) {
  const bool is_only = groups_.size() == 1;
  if (!is_only) gradients_.exchange(group.gradients);
  run();
  if (!is_only) gradients_.exchange(group.gradients);
}

// Losses that count samples form one group. Every other loss is a separate group: its weight may be known only on the
// device and may change between batches. With several ranks, a rank does not know what the losses of the others count.
std::vector<LossGroups::Group> LossGroups::make_groups(const std::vector<components::Loss::Result>& results,
                                                       int64_t samples) const {
  std::vector<Group> groups;
  Group of_samples;
  for (size_t i = 0; i < losses_.size(); ++i) {
    const bool counts_samples = !is_shared_ && !losses_[i].returns_sums() && !results[i].weight_tensor.defined() &&
                                results[i].weight == static_cast<double>(samples);
    if (counts_samples)
      of_samples.losses.push_back(i);
    else
      groups.push_back({.losses = {i}});
  }
  if (!of_samples.losses.empty()) groups.push_back(std::move(of_samples));
  if (groups.size() > 1)
    for (Group& group : groups) group.gradients.resize(parameters_);
  return groups;
}

at::Tensor LossGroups::add_up_means(const std::vector<components::Loss::Result>& results) const {
  at::Tensor total;
  for (size_t i = 0; i < results.size(); ++i) {
    const components::Loss::Result& result = results[i];
    at::Tensor mean = result.loss;
    if (result.is_sum)
      mean = result.weight_tensor.defined() ? mean / losses_[i].divisor(as_double(result.weight_tensor)).to(at::kFloat)
                                            : mean / losses_[i].divisor(result.weight);
    else if (result.weight_tensor.defined() && !reads_weights_)
      mean = zero_if_empty(mean, result.weight_tensor);
    else if (read_weight(result) == 0)
      continue;
    total = pipeline::add(total, times(mean, losses_[i].factor()));
  }
  return total;
}

// The shares of all ranks add up to the mean over all of them.
at::Tensor LossGroups::add_up_shares(const std::vector<components::Loss::Result>& results) const {
  at::Tensor total;
  for (size_t i = 0; i < results.size(); ++i) {
    const components::Loss::Result& result = results[i];
    if (result.is_sum) {
      const at::Tensor divisor = losses_[i].divisor(totals_[i]).to(at::kFloat);
      total = pipeline::add(total, result.loss * (losses_[i].factor() / divisor));
      continue;
    }
    if (reads_weights_) {
      const double weight = read_weight(result);
      if (weight == 0) continue;
      total = pipeline::add(total, times(result.loss, losses_[i].factor() * weight / read_scalar(totals_[i])));
      continue;
    }
    const at::Tensor weight =
        result.weight_tensor.defined() ? as_double(result.weight_tensor) : at::full_like(totals_[i], result.weight);
    const at::Tensor share = at::where(weight > 0, weight / totals_[i], at::zeros_like(weight));
    total = pipeline::add(total, zero_if_empty(result.loss, weight) * (share * losses_[i].factor()).to(at::kFloat));
  }
  return total;
}

at::Tensor LossGroups::total(const std::vector<components::Loss::Result>& results) const {
  return mode_ == Mode::means ? add_up_means(results) : add_up_sums({0}, results);
}

void LossGroups::count(const std::vector<components::Loss::Result>& results, int64_t samples) {
  has_gradient_ = true;
  if (mode_ == Mode::sums) count_items(results, samples);
}

void LossGroups::count_items(const std::vector<components::Loss::Result>& results, int64_t samples) {
  if (groups_.empty()) groups_ = make_groups(results, samples);
  for (Group& group : groups_) count_items(group, results, samples);
}

void LossGroups::count_items(Group& group, const std::vector<components::Loss::Result>& results,
                             int64_t samples) const {
  for (const size_t i : group.losses) {
    const components::Loss::Result& result = results[i];
    const bool is_first = i == group.losses.front();
    if (result.weight_tensor.defined() && !reads_weights_) {
      const at::Tensor weight = as_double(result.weight_tensor);
      if (is_first) group.device_weight = pipeline::add(group.device_weight, weight);
      continue;
    }
    const double weight = read_weight(result);
    if (group.losses.size() > 1 && weight != static_cast<double>(samples))
      throw support::Error(
          support::ErrorKind::plugin,
          "{}, forward: the weight is {} for a batch of {}, but was the number of samples in the step's first batch; "
          "expected it to count the same items in all batches of a step, or to be a tensor",
          losses_[i].component().describe(), std::to_string(weight), support::format_count(samples, "sample"));
    if (is_first) group.weight += weight;
  }
}

at::Tensor LossGroups::add_up_sums(const std::vector<size_t>& losses,
                                   const std::vector<components::Loss::Result>& results) const {
  at::Tensor total;
  for (const size_t i : losses) {
    const components::Loss::Result& result = results[i];
    const double factor = losses_[i].factor() / step_size_;
    if (result.is_sum) {
      total = pipeline::add(total, times(result.loss, factor));
      continue;
    }
    if (result.weight_tensor.defined() && !reads_weights_) {
      const at::Tensor weight = as_double(result.weight_tensor);
      total = pipeline::add(total, zero_if_empty(result.loss, weight) * (weight * factor).to(at::kFloat));
    } else if (const double weight = read_weight(result); weight != 0) {
      total = pipeline::add(total, times(result.loss, weight * factor));
    }
  }
  return total;
}

at::Tensor LossGroups::factor_of(const Group& group) const {
  const components::Loss& first = losses_[group.losses.front()];
  if (!is_shared_ && !group.device_weight.defined()) {
    const double weight = first.divisor(group.weight);
    return at::full({}, weight > 0 ? step_size_ / weight : 0.0, gradients_.float_options());
  }
  const at::Tensor weight =
      first.divisor(is_shared_ ? totals_[group.losses.front()] : group.device_weight + group.weight);
  return at::where(weight > 0, step_size_ / weight, at::zeros_like(weight)).to(at::kFloat);
}

at::Tensor LossGroups::combine() {
  if (mode_ != Mode::sums) return {};
  // This also applies if this rank had no batch.
  if (is_shared_ && losses_.size() == 1) return factor_of(Group{.losses = {0}});
  if (groups_.empty()) return {};
  if (groups_.size() == 1) return factor_of(groups_.front());
  const at::NoGradGuard no_grad;
  for (Group& group : groups_) {
    std::vector<at::Tensor> given;
    for (const at::Tensor& gradient : group.gradients)
      if (gradient.defined()) given.push_back(gradient);
    if (!given.empty()) at::_foreach_mul_(given, factor_of(group));
    gradients_.add(group.gradients);
  }
  return {};
}

}  // namespace tenon::pipeline

#include "framework/pipeline/losses/step_losses.h"

#include <torch/types.h>

#include <utility>

namespace tenon::pipeline {

void StepLosses::add(const std::vector<components::Loss::Result>& results, const components::StepContext& context) {
  batches_.push_back(detach(results));
  if (group_.is_single()) return;
  const at::Tensor elements = sum_elements(losses_, results, context, device_);
  sums_ = sums_.defined() ? sums_ + elements : elements;
}

void StepLosses::start_sum() {
  if (group_.is_single()) return;
  const auto count = static_cast<int64_t>(place_of_weight(losses_, losses_.size()));
  all_sums_ = sums_.defined() ? std::exchange(sums_, at::Tensor())
                              : at::zeros({count}, at::TensorOptions(device_).dtype(at::kDouble));
  pending_ = group_.start_reduce(distributed::Reduction::sum, all_sums_);
}

const at::Tensor& StepLosses::finish_sum() {
  pending_.wait();
  return all_sums_;
}

void StepLosses::note_non_finite(NonFiniteFlag& flag) const {
  if (group_.is_single()) return;
  // The parts of the losses do not matter.
  for (size_t i = 0; i < losses_.size(); ++i)
    flag.note(all_sums_.narrow(0, static_cast<int64_t>(place_of_weight(losses_, i)), 2));
}

StepLosses::Posted StepLosses::post(std::vector<at::Tensor>& scalars, const components::StepContext& context) {
  Posted posted{losses_, context, std::exchange(batches_, {})};
  if (group_.is_single()) {
    for (const std::vector<components::Loss::Result>& batch : posted.batches) append_scalars(batch, scalars);
  } else {
    scalars.push_back(all_sums_);
    posted.batches.clear();
  }
  return posted;
}

std::vector<LossSums> StepLosses::Posted::read(std::span<const double>& values) const {
  std::vector<LossSums> sums;
  if (batches.empty()) sums.emplace_back(losses).set(values);
  for (const std::vector<components::Loss::Result>& batch : batches)
    sums.emplace_back(losses).add(batch, values, context);
  return sums;
}

}  // namespace tenon::pipeline

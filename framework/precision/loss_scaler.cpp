#include "framework/precision/loss_scaler.h"

#include <torch/types.h>

namespace tenon::precision {

namespace {

// The values of torch.amp.GradScaler.
constexpr double kFirstScale = 65536;
constexpr double kGrowth = 2;
constexpr double kBackoff = 0.5;
constexpr int64_t kGrowthInterval = 2000;

}  // namespace

LossScaler::LossScaler(const c10::Device& device)
    : scale_(at::full({}, kFirstScale, at::TensorOptions(device).dtype(at::kFloat))),
      growth_tracker_(at::zeros({}, at::TensorOptions(device).dtype(at::kInt))) {}

at::Tensor LossScaler::scale(const at::Tensor& loss) const { return loss * scale_; }

// Computed in double as in GradScaler: the reciprocal of a float may round once more.
at::Tensor LossScaler::inverse() const { return scale_.to(at::kDouble).reciprocal().to(at::kFloat); }

void LossScaler::update(const at::Tensor& overflowed) {
  at::_amp_update_scale_(scale_, growth_tracker_, overflowed, kGrowth, kBackoff, kGrowthInterval);
}

std::vector<std::pair<std::string, at::Tensor>> LossScaler::state() const {
  return {{"scale", scale_}, {"growth_tracker", growth_tracker_}};
}

}  // namespace tenon::precision

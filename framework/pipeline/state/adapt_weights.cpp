#include "framework/pipeline/state/adapt_weights.h"

#include <torch/types.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <string_view>

namespace tenon::pipeline {

namespace {

constexpr int64_t kRgb = 3;

bool is_position_embedding(std::string_view name) {
  constexpr std::array<std::string_view, 3> kNames{"pos_embed", "pos_embedding", "position_embeddings"};
  const std::string_view last = name.substr(name.rfind('.') + 1);  // npos + 1 is 0
  return std::ranges::find(kNames, last) != kNames.end();
}

// Whether a convolution makes tokens of this width of square patches.
bool has_patches(const std::vector<components::NamedTensor>& model, int64_t width) {
  return std::ranges::any_of(model, [&](const components::NamedTensor& named) {
    const at::Tensor& weight = named.tensor;
    return weight.dim() == 4 && weight.size(0) == width && weight.size(2) == weight.size(3) && weight.size(2) > 1;
  });
}

// The side of a square grid; nothing for other numbers of patches.
std::optional<int64_t> find_side(int64_t patches) {
  if (patches < 1) return std::nullopt;
  const auto side = std::llround(std::sqrt(static_cast<double>(patches)));
  return side * side == patches ? std::optional<int64_t>(side) : std::nullopt;
}

std::string format_grid(int64_t side) { return std::to_string(side) + " x " + std::to_string(side); }

std::optional<AdaptedWeight> resample_positions(const at::Tensor& stored, int64_t tokens) {
  // Tokens before those of the patches: a class token; none; one of distillation, too; four registers, too.
  for (const int64_t prefix : {1, 0, 2, 5}) {
    const auto old_side = find_side(stored.size(1) - prefix), side = find_side(tokens - prefix);
    if (!old_side || !side) continue;
    at::Tensor grid = stored.narrow(1, prefix, *old_side * *old_side).to(at::kFloat);
    grid = grid.reshape({1, *old_side, *old_side, -1}).permute({0, 3, 1, 2});
    grid = at::_upsample_bicubic2d_aa(grid, {*side, *side}, /*align_corners=*/false);
    grid = grid.permute({0, 2, 3, 1}).reshape({1, *side * *side, -1}).to(stored.scalar_type());
    return AdaptedWeight{at::cat({stored.narrow(1, 0, prefix), grid}, 1),
                         "interpolated from " + format_grid(*old_side) + " to " + format_grid(*side) + " patches"};
  }
  return std::nullopt;
}

AdaptedWeight change_channels(const at::Tensor& stored, int64_t channels) {
  const std::string text = " over the 3 channels of the file";
  const at::Tensor values = stored.to(at::kFloat);
  if (channels == 1) return {values.sum(1, /*keepdim=*/true).to(stored.scalar_type()), "summed" + text};
  const at::Tensor repeated = values.repeat({1, (channels + kRgb - 1) / kRgb, 1, 1}).narrow(1, 0, channels);
  return {(repeated * (static_cast<double>(kRgb) / static_cast<double>(channels))).to(stored.scalar_type()),
          "repeated" + text};
}

}  // namespace

std::optional<AdaptedWeight> adapt_weight(const components::NamedTensor& named, const at::Tensor& stored,
                                          const std::vector<components::NamedTensor>& model) {
  const at::NoGradGuard no_grad;
  const at::Tensor& tensor = named.tensor;
  if (!at::isFloatingType(stored.scalar_type()) || stored.dim() != tensor.dim()) return std::nullopt;
  const auto equals_except_1 = [&] {
    for (int64_t i = 0; i < stored.dim(); ++i)
      if (i != 1 && stored.size(i) != tensor.size(i)) return false;
    return true;
  };
  if (stored.dim() == 4 && equals_except_1() && stored.size(1) == kRgb) return change_channels(stored, tensor.size(1));
  if (stored.dim() == 3 && equals_except_1() && stored.size(0) == 1 && is_position_embedding(named.name) &&
      has_patches(model, stored.size(2)))
    return resample_positions(stored, tensor.size(1));
  return std::nullopt;
}

}  // namespace tenon::pipeline

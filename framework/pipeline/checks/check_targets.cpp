#include "framework/pipeline/checks/check_targets.h"

#include <torch/types.h>

#include <optional>

namespace tenon::pipeline {

namespace {

std::optional<std::string> find_single_class(const std::string& name, const at::Tensor& field, int64_t ignored,
                                             const std::string& loss) {
  constexpr int64_t kPerPixel = 3;  // [N, H, W]; padded sequences of tokens may well hold one token
  if (field.dim() < kPerPixel) return std::nullopt;
  const at::Tensor kept = field.masked_select(field != ignored);
  if (kept.numel() == 0 || kept.numel() == field.numel()) return std::nullopt;
  const auto single = kept.min().item<int64_t>();
  if (kept.max().item<int64_t>() != single) return std::nullopt;
  const std::string number = std::to_string(ignored);
  return name + " holds only " + std::to_string(single) + " and " + number + " in the first batch, and " + loss +
         " ignores " + number + ", so there is one class to learn; is " + number +
         " a class? then give it the number of that class in the data, and remove ignore_index; expected at least two "
         "classes";
}

}  // namespace

std::vector<std::string> check_targets(const Training& training, const BatchTensors& batch_tensors) {
  std::vector<std::string> warnings;
  const BoundDataset& data = *training.train;
  for (size_t loss = 0; loss < training.losses.size(); ++loss) {
    const std::vector<Source>& sources = data.losses[loss].sources();
    const std::vector<components::Port>& ports = training.losses[loss].inputs();
    for (size_t i = 0; i < ports.size(); ++i) {
      if (!ports[i].indices || !ports[i].indices->ignore_index || sources[i].kind != Source::Kind::field) continue;
      if (sources[i].index >= batch_tensors.host_fields.size()) continue;  // made by a batch transform
      const at::Tensor& field = batch_tensors.host_fields[sources[i].index];
      if (!at::isIntegralType(field.scalar_type(), /*includeBool=*/false)) continue;
      if (auto found = find_single_class(data.name() + ": " + sources[i].name, field, *ports[i].indices->ignore_index,
                                         training.losses[loss].component().describe()))
        warnings.push_back(std::move(*found));
    }
  }
  return warnings;
}

}  // namespace tenon::pipeline

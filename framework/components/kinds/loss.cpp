#include "framework/components/kinds/loss.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include <tenon/draft/loss_sums.h>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/text/format.h"

namespace tenon::components {

Loss::Loss(const Component& component, const config::LossPlan& plan)
    : name_(plan.name),
      factor_(plan.weight),
      instance_(component, plan),
      ports_(instance_.read_ports()),
      is_capturable_(instance_.read_is_capturable()),
      returns_sums_(instance_.read_flag(TENON_LOSS_SUMS, &tenon_loss_sums::returns_sums, "loss_sums.returns_sums")) {
  if (!ports_.outputs.empty())
    throw_plugin_error(component, "ports", "{} is an output; a loss has only inputs, and returns its result separately",
                       ports_.outputs[0].name);
  if (instance_.has(&tenon_loss::parts))
    instance_.read_list(instance_.table(), &tenon_loss::parts, "parts", "parts, reading its result",
                        [&](const tenon_string* names, uint64_t count) { read_part_names(names, count); });
}

void Loss::read_part_names(const tenon_string* names, uint64_t count) {
  require_list(component(), "parts", names, count, "parts", "a list, or 0 parts");
  for (uint64_t i = 0; i < count; ++i) {
    std::string name = to_string(names[i]);
    if (name.empty() || std::find(part_names_.begin(), part_names_.end(), name) != part_names_.end())
      throw_plugin_error(component(), "parts", "part {} is called \"{}\"; expected a unique name", i, name);
    part_names_.push_back(std::move(name));
  }
}

Loss::Result Loss::forward_unchecked(const StepContext& context, const std::vector<at::Tensor>& inputs) const {
  static const std::vector<tenon_tensor*> kNoHandles;
  Frame frame(context, kNoHandles);
  const std::vector<tenon_tensor*> handles = to_handles(inputs);
  std::vector<tenon_tensor*> parts(part_names_.size(), nullptr);
  tenon_loss_result result{};
  result.size = sizeof result;
  result.parts = parts.data();
  result.part_count = parts.size();
  instance_.call(
      [&](const tenon_loss& table) {
        return table.forward(instance_.self(), frame.get(), handles.data(), handles.size(), &result);
      },
      "forward", context.at());
  return {to_tensor(result.loss), to_tensor(result.weight_tensor), result.weight, to_tensors(parts), returns_sums_};
}

at::Tensor Loss::divisor(const at::Tensor& weight) const { return returns_sums_ ? weight.clamp_min(1.0) : weight; }

Loss::Result Loss::forward(const StepContext& context, const std::vector<at::Tensor>& inputs) const {
  Result given = forward_unchecked(context, inputs);
  const auto refuse = [&](const std::string& what) {
    throw_plugin_error(component(), fmt::format("forward ({})", context.at()()), what);
  };
  if (!given.loss.defined() || given.loss.numel() != 1)
    refuse("the loss is " + describe(given.loss) + "; expected a scalar");
  if (given.weight_tensor.defined() && given.weight_tensor.numel() != 1)
    refuse("the weight is " + describe(given.weight_tensor) + "; expected a scalar");
  if (!given.weight_tensor.defined() && (!(given.weight >= 0) || std::isinf(given.weight)))
    refuse("the weight is " + std::to_string(given.weight) + "; expected the number of items in the mean");
  for (size_t i = 0; i < given.parts.size(); ++i)
    if (given.parts[i].defined() && given.parts[i].numel() != 1)
      refuse("the part " + part_names_[i] + " is " + describe(given.parts[i]) + "; expected a scalar");
  return given;
}

}  // namespace tenon::components

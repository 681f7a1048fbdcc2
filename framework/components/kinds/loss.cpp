#include "framework/components/kinds/loss.h"

#include <torch/types.h>

#include <algorithm>
#include <cmath>

#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"

namespace tenon::components {

using support::Error;
using support::ErrorKind;

Loss::Loss(const Component& component, const config::LossPlan& plan)
    : name_(plan.name),
      factor_(plan.weight),
      instance_(component, plan),
      ports_(instance_.read_ports()),
      is_capturable_(instance_.read_is_capturable()) {
  if (!ports_.outputs.empty())
    throw Error(ErrorKind::plugin, component.describe() + ", ports: " + ports_.outputs[0].name +
                                       " is an output; a loss has only inputs, and returns its result separately");
  read_part_names();
}

void Loss::read_part_names() {
  if (!instance_.has(&tenon_loss::parts)) return;
  const tenon_string* names = nullptr;
  uint64_t count = 0;
  instance_.call([&](const tenon_loss& table) { return table.parts(instance_.self(), &names, &count); }, "parts");
  const ResultScope scope(component(), "parts, reading its result");
  if (count > 0 && !names)
    throw Error(ErrorKind::plugin, component().describe() + ", parts: returns a count of " + std::to_string(count) +
                                       " parts, but the list is NULL; expected a list, or 0 parts");
  for (uint64_t i = 0; i < count; ++i) {
    std::string name = to_string(names[i]);
    if (name.empty() || std::find(part_names_.begin(), part_names_.end(), name) != part_names_.end())
      throw Error(ErrorKind::plugin, component().describe() + ", parts: part " + std::to_string(i) + " is called \"" +
                                         name + "\"; expected a unique name");
    part_names_.push_back(std::move(name));
  }
}

Loss::Result Loss::forward(const StepContext& context, const std::vector<at::Tensor>& inputs) const {
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
  const auto refuse = [&](const std::string& what) {
    throw Error(ErrorKind::plugin, component().describe() + ", forward (" + context.at()() + "): " + what);
  };
  Result given{to_tensor(result.loss), to_tensor(result.weight_tensor), result.weight, {}};
  if (!given.loss.defined() || given.loss.numel() != 1)
    refuse("the loss is " + describe(given.loss) + "; expected a scalar");
  if (given.weight_tensor.defined() && given.weight_tensor.numel() != 1)
    refuse("the weight is " + describe(given.weight_tensor) + "; expected a scalar");
  if (!given.weight_tensor.defined() && (!(given.weight >= 0) || std::isinf(given.weight)))
    refuse("the weight is " + std::to_string(given.weight) + "; expected the number of items in the mean");
  for (size_t i = 0; i < parts.size(); ++i) {
    given.parts.push_back(to_tensor(parts[i]));
    if (given.parts.back().defined() && given.parts.back().numel() != 1)
      refuse("the part " + part_names_[i] + " is " + describe(given.parts.back()) + "; expected a scalar");
  }
  return given;
}

}  // namespace tenon::components

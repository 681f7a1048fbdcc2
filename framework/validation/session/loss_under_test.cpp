#include "framework/validation/session/loss_under_test.h"

#include <torch/types.h>
#include <torch/utils.h>

#include "framework/components/tensors/frame.h"
#include "framework/components/tensors/tensor_handles.h"
#include "framework/support/diagnostics/error.h"
#include "framework/validation/session/check.h"
#include "framework/validation/session/model_under_test.h"

namespace tenon::validation {

LossUnderTest::LossUnderTest(Session& session) : subject_(session), ports_(read_ports(subject_)), parts_(read_parts()) {
  if (ports_.inputs.empty()) throw Failed("ports returns no input; expected one or more");
  if (!ports_.outputs.empty())
    throw Failed("ports returns the output " + ports_.outputs.front().name + "; a loss has only inputs");
}

std::vector<std::string> LossUnderTest::read_parts() {
  const tenon_loss& table = subject_.table();
  if (!TENON_HAS(&table, tenon_loss, parts) || !table.parts) return {};
  const tenon_string* names = nullptr;
  uint64_t count = 0;
  subject_.call("parts", [&] { return table.parts(subject_.self(), &names, &count); });
  constexpr uint64_t kMaxCount = 1000;
  if (count > kMaxCount || (count > 0 && !names))
    throw Failed("parts returns " + std::to_string(count) + (names ? "" : " and a null list"));
  std::vector<std::string> read;
  for (uint64_t i = 0; i < count; ++i) {
    if (names[i].size == 0 || !names[i].data) throw Failed("part " + std::to_string(i) + " has no name");
    read.push_back(components::to_string(names[i]));
  }
  return read;
}

void LossUnderTest::find_recipe() {
  const at::NoGradGuard no_grad;
  std::string answer;
  std::optional<InputRecipe> taken;
  const auto is_finite = [&](const InputRecipe& recipe) {
    recipe_ = recipe;
    const Result result = forward(inputs(2));
    if (!taken) taken = recipe;
    return result.loss.defined() && find_non_finite({result.loss}).empty();
  };
  if (try_recipes(ports_.inputs, is_finite, answer)) return;
  recipe_ = taken;
  if (!taken)
    throw Failed("forward accepts none of the inputs that were tried; its last error: " + answer +
                 ". If it requires inputs of a certain size, declare that size in its ports");
}

std::vector<at::Tensor> LossUnderTest::inputs(int64_t batch, int32_t preferred) const {
  std::vector<at::Tensor> made =
      make_inputs(ports_.inputs, *recipe_, batch, subject_.session().seed + static_cast<uint64_t>(batch), preferred);
  for (at::Tensor& input : made)
    if (at::isFloatingType(input.scalar_type())) input.requires_grad_(true);
  return made;
}

LossUnderTest::Result LossUnderTest::forward(const std::vector<at::Tensor>& inputs) {
  torch::manual_seed(subject_.session().seed);
  components::StepContext context;
  context.training = true;
  context.epoch = 1;
  context.seed = subject_.session().seed;
  const std::vector<tenon_tensor*> no_tensors;
  const components::Frame frame(context, no_tensors);
  const std::vector<tenon_tensor*> handles = components::to_handles(inputs);
  std::vector<tenon_tensor*> parts(parts_.size(), nullptr);
  tenon_loss_result result{};
  result.size = sizeof result;
  result.parts = parts.data();
  result.part_count = parts.size();
  subject_.call("forward", [&] {
    return subject_.table().forward(subject_.self(), frame.get(), handles.data(), handles.size(), &result);
  });
  Result given{components::to_tensor(result.loss), components::to_tensor(result.weight_tensor), result.weight, {}};
  for (const tenon_tensor* part : parts) given.parts.push_back(components::to_tensor(part));
  return given;
}

}  // namespace tenon::validation
